//! The figures in the corner, and the plot.

use bevy::{prelude::*, tasks::ComputeTaskPool};
use bevy_egui::{EguiContexts, EguiPrimaryContextPass, egui};
use egui_plot::{GridInput, GridMark, HoverPosition, Line, Plot};

use super::{
    crowd::{Crowd, SHOWN_COUNTS},
    draw::Drawing,
    measure::{Meter, SHOWN},
};
use crate::common::{HZ, Palette};

pub fn plugin(app: &mut App) {
    app.add_systems(EguiPrimaryContextPass, show);
}

fn show(
    mut contexts: EguiContexts,
    meter: Res<Meter>,
    mut crowd: ResMut<Crowd>,
    mut drawing: ResMut<Drawing>,
    mut count: Local<Option<u32>>,
) -> Result {
    let context = contexts.ctx_mut()?;
    // So bright and dense a crowd would shine through.
    let fill = context.global_style().visuals.window_fill;
    if !fill.is_opaque() {
        context.global_style_mut(|style| style.visuals.window_fill = fill.to_opaque());
    }
    let window = egui::Window::new("Stress")
        .title_bar(false)
        .resizable(false)
        .default_width(WIDTH)
        .anchor(egui::Align2::LEFT_TOP, [12.0, 12.0]);
    window.show(context, |ui| {
        ui.set_width(WIDTH);
        ui.spacing_mut().slider_width = 120.0;
        let rows = egui::Grid::new("figures").num_columns(2).min_col_width(64.0).spacing([12.0, 5.0]);
        rows.show(ui, |ui| {
            ui.label("Agents");
            let mut value = count.unwrap_or(crowd.wanted);
            let slider = egui::Slider::new(&mut value, SHOWN_COUNTS)
                .logarithmic(true)
                .clamping(egui::SliderClamping::Edits)
                .custom_formatter(|n, _| thousands(n as u32));
            let response = ui.add(slider);
            // A new crowd only when the slider is let go.
            if response.dragged() {
                *count = Some(value);
            } else {
                *count = None;
                if value != crowd.wanted {
                    crowd.wanted = value;
                }
            }
            ui.end_row();
            ui.label("Threads");
            ui.label(ComputeTaskPool::get().thread_num().to_string());
            ui.end_row();
            ui.colored_label(color(TICK), "Tick");
            ui.label(format!(
                "{}, {} of {HZ} per second",
                ms(meter.ticks.median()),
                meter.ticks.per_second()
            ));
            ui.end_row();
            ui.colored_label(color(FRAME), "Frame");
            ui.label(format!("{}, {} per second", ms(meter.frames.median()), meter.frames.per_second()));
            ui.end_row();
            ui.label("Drawing");
            ui.horizontal(|ui| {
                ui.checkbox(&mut drawing.on, "");
                let cost = meter.draws.median().filter(|_| drawing.on);
                ui.label(cost.map_or("off".into(), |ms| format!("{ms:.2} ms of the CPU")));
            });
            ui.end_row();
        });
        ui.add_space(4.0);
        plot(ui, &meter);
    });
    Ok(())
}

const WIDTH: f32 = 268.0;
const TICK: Color = Palette::TEAL;
const FRAME: Color = Palette::GOLD;

fn color(color: Color) -> egui::Color32 {
    let [r, g, b, _] = color.to_srgba().to_u8_array();
    egui::Color32::from_rgb(r, g, b)
}

fn plot(ui: &mut egui::Ui, meter: &Meter) {
    let line = |name, series: &super::measure::Series, shade| {
        Line::new(name, series.longest(0.1)).color(color(shade)).width(1.5)
    };
    Plot::new("times")
        .height(110.0)
        .default_x_bounds(-SHOWN.as_secs_f64(), 0.0)
        .include_y(0.0)
        .include_y(1e3 / HZ)
        .auto_bounds([false, true])
        .allow_zoom(false)
        .allow_drag(false)
        .allow_scroll(false)
        .allow_boxed_zoom(false)
        .allow_axis_zoom_drag(false)
        .allow_double_click_reset(false)
        .show_x(false)
        .y_axis_min_width(48.0)
        .y_grid_spacer(few_lines)
        .x_axis_formatter(|mark, _| format!("{} s", mark.value))
        .y_axis_formatter(|mark, _| format!("{} ms", mark.value))
        .label_formatter(|at| match at {
            HoverPosition::NearDataPoint { plot_name, position, .. } => {
                Some(format!("{plot_name}: {:.1} ms", position.y))
            }
            HoverPosition::Elsewhere { .. } => None,
        })
        .show(ui, |plot| {
            plot.line(line("frame", &meter.frames, FRAME));
            plot.line(line("tick", &meter.ticks, TICK));
        });
}

/// Two to four lines at round values.
fn few_lines(input: GridInput) -> Vec<GridMark> {
    let (_, most) = input.bounds;
    let round = [1.0, 2.0, 5.0].into_iter().cycle().zip(0..15);
    let step =
        round.map(|(digit, n)| digit * [1.0, 10.0, 100.0, 1e3, 1e4][n / 3]).find(|step| step * 4.0 > most);
    let step_size = step.unwrap_or(most.max(1.0));
    let values = (0..5).map(|n| step_size * f64::from(n)).take_while(|&value| value <= most);
    values.map(|value| GridMark { value, step_size }).collect()
}

fn ms(value: Option<f32>) -> String {
    value.map_or("–".into(), |ms| format!("{ms:.1} ms"))
}

/// `1234567` as `1 234 567`.
fn thousands(n: u32) -> String {
    let digits = n.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().filter_map(|group| str::from_utf8(group).ok()).collect();
    groups.join(" ")
}
