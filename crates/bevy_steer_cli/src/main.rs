//! `steer`: runs scenes without a window.

use std::process::ExitCode;

fn main() -> ExitCode {
    bevy_steer_cli::args::main()
}
