//! The compiler's errors for wrong handlers and edges. `TRYBUILD=overwrite` rewrites the expected texts.

#[test]
fn wrong_handlers_and_edges_do_not_compile_and_say_why() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("cases/*.rs");
}
