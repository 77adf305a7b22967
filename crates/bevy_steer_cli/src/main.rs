//! steer
fn main() {}
