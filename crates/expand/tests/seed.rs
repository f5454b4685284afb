//! simpletfjob's own example, byte for byte.

use trainyard_expand::expand;
use trainyard_expand::hosts::{Wanted, cast};
use trainyard_expand::template::UserTemplate;

#[test]
fn the_example_of_simpletfjob_comes_out_byte_for_byte() {
    let template = UserTemplate::parse(include_str!("seed/mnist.yaml")).expect("it is a template");
    // Its nodes, by name as the API lists them; `-N 3`.
    let hosts = ["h10", "h100", "h14", "h23"].map(str::to_owned);
    let wanted = Wanted {
        num: Some(3),
        ..Wanted::default()
    };
    let cast = cast(&hosts, &wanted).expect("there are enough");
    let manifest = expand(&template, &cast, "mnist").expect("it can be filled in");
    assert_eq!(manifest, include_str!("seed/mnist_tfjob.yaml"));
}
