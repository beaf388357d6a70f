//! `cargo test` checks the kernels of `src/mine.rs`.

use conformance::mine::Mine;
use conformance::{is_fine, Kit};

#[test]
fn mine_conforms() {
    let kit = Kit::here().expect("the fixtures are beside this crate");
    let outcomes = kit.run(&mut Mine, &|_| true);
    assert!(is_fine(&outcomes), "\n{}\n", kit.told(&outcomes).join("\n"));
}
