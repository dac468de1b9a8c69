//! `pleach inbox`: lists the open questions of a database.

use pleach::{InboxItem, ListQuestions};

use crate::args::Inbox;
use crate::fault::Fault;
use crate::screen::{Screen, printable, short, time};
use crate::store::{apps, open};

/// The maximum number of characters of a message that are shown.
const MESSAGE: usize = 120;

pub(crate) async fn run(args: Inbox, screen: &mut Screen) -> Result<(), Fault> {
    let store = open(&args.store).await?;
    let mut count = 0_usize;
    for app in apps(&*store, args.whose.app.as_deref()).await? {
        let mut request = ListQuestions::new(app);
        request.user_id = args.whose.user.as_deref().map(Into::into);
        request.assignee = args.assignee.clone();
        request.limit = args.limit;
        let mut left = args.limit.unwrap_or(usize::MAX);
        loop {
            let page = store.list_questions(request.clone()).await?;
            for item in page.items.iter().filter(|item| args.all || item.question.kind.is_for_people()).take(left) {
                (count, left) = (count + 1, left - 1);
                if screen.is_json { screen.value(item)? } else { screen.line(line(item))? }
            }
            request.after = page.next;
            if left == 0 || request.after.is_none() {
                break;
            }
        }
    }
    if count == 0 && !screen.is_json {
        screen.line("no open questions")?;
    }
    Ok(())
}

fn line(item: &InboxItem) -> String {
    let question = &item.question;
    let session = printable(&item.session.to_string());
    let message = short(&question.message, MESSAGE);
    let assignee = question.assignee.as_deref().map(|name| format!(" (for {})", printable(name))).unwrap_or_default();
    format!("{}  {session}  {}{assignee}: {message}", time(question.asked_at), printable(&question.id))
}
