//! Command line of the examples, and where they can draw.

use std::path::PathBuf;

use clap::Parser;

/// Arguments that every example takes.
#[derive(Parser, Debug, Clone)]
pub struct Args {
    /// Draw without a display, then exit.
    #[arg(long)]
    pub headless: bool,
    /// Frames to run without a display; one tick each.
    #[arg(long, default_value_t = 600, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub frames: u32,
    /// Where to save the last frame as PNG; NAME.png by default.
    #[arg(long, value_name = "OUT.png")]
    pub screenshot: Option<PathBuf>,
    /// Width and height in pixels.
    #[arg(long, default_value = "1280x720", value_parser = parse_size)]
    pub size: (u32, u32),
    /// Seed of every random draw.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

/// Where an example draws.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Surface {
    /// In a window.
    Window,
    /// Into an image.
    Image,
    /// Nowhere: there is no graphics driver.
    Nothing,
}

impl Args {
    /// Width and height in pixels.
    pub fn size(&self) -> (u32, u32) {
        self.size
    }

    /// Where this run draws; says so where it is not what was asked for.
    pub fn surface(&self) -> Surface {
        let display = has_display();
        if !self.headless && display {
            return Surface::Window;
        }
        if !self.headless {
            eprintln!("No display found (by DISPLAY): running {} frames without a window.", self.frames);
        }
        if has_driver() {
            Surface::Image
        } else {
            eprintln!(
                "No Vulkan driver found either: simulating without drawing. To see pictures, install one, \
                 for example the package mesa-vulkan-drivers."
            );
            Surface::Nothing
        }
    }
}

/// Whether DISPLAY names an X server that answers; one left over from an ended session does not.
#[cfg(target_os = "linux")]
fn has_display() -> bool {
    use std::os::unix::net::UnixStream;

    let Ok(display) = std::env::var("DISPLAY") else { return false };
    match display.rsplit_once(':') {
        Some(("" | "unix", number)) => {
            let number = number.split('.').next().unwrap_or_default();
            UnixStream::connect(format!("/tmp/.X11-unix/X{number}")).is_ok()
        }
        // Over the network, as with ssh -X: try it.
        Some(_) => true,
        None => false,
    }
}

#[cfg(not(target_os = "linux"))]
fn has_display() -> bool {
    true
}

fn has_driver() -> bool {
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor {
        backends: wgpu::Backends::VULKAN | wgpu::Backends::METAL | wgpu::Backends::DX12,
        ..wgpu::InstanceDescriptor::new_without_display_handle()
    });
    !bevy::tasks::block_on(instance.enumerate_adapters(wgpu::Backends::all())).is_empty()
}

fn parse_size(text: &str) -> Result<(u32, u32), String> {
    text.split_once('x')
        .and_then(|(w, h)| Some((w.parse().ok()?, h.parse().ok()?)))
        .filter(|&(w, h)| (64..=8192).contains(&w) && (64..=8192).contains(&h))
        .ok_or_else(|| format!("{text} is not WIDTHxHEIGHT with 64 to 8192 pixels each"))
}
