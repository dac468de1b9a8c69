//! Sessions in memory. Processes cannot share them, so tasks take the place of processes.

use std::io;
use std::sync::{Arc, Mutex};

use pleach::connect;
use pleach_tests::worker::{Parent, Report, work};

use crate::own_sessions::{REPETITIONS, check_200_keys, eight_with_25_appends};
use crate::stored::{End, check_service};

/// A worker's parent that records the reports.
#[derive(Default)]
struct Notes(Mutex<Vec<Report>>);

impl Parent for Notes {
    fn report(&self, report: &Report) -> io::Result<()> {
        self.0.lock().unwrap().push(report.clone());
        Ok(())
    }

    fn wait(&self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn s37_u4_no_key_of_eight_tasks_is_lost() {
    for _ in 0..REPETITIONS {
        let service = connect("memory:").await.unwrap();
        let tasks: Vec<_> = eight_with_25_appends("memory:")
            .into_iter()
            .map(|job| {
                let service = Arc::clone(&service);
                tokio::spawn(async move {
                    let notes = Notes::default();
                    work(&*service, &job, &notes).await.unwrap();
                    notes.0.into_inner().unwrap()
                })
            })
            .collect();
        let mut reports = Vec::new();
        for task in tasks {
            reports.push(task.await.unwrap());
        }
        check_200_keys(&check_service(&*service, 25, &reports, End::Good).await);
    }
}
