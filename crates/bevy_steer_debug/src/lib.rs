//! Sees what [`bevy_steer`] does and changes it while the game runs.
//!
//! | plugin | what it does |
//! |---|---|
//! | [`SteeringOverlayPlugin`] | gizmos: velocity, force, one arrow per contribution, feelers, radii, paths, … |
//! | [`SteeringTimePlugin`] | pause, single step, slow motion |
//! | `SteeringPanelPlugin` (feature `egui`) | every field of every behaviour as a slider, for one agent, its group or all |
//!
//! ```
//! use bevy::prelude::*;
//! use bevy_steer::prelude::*;
//! use bevy_steer_debug::{SteeringOverlayPlugin, SteeringTimePlugin};
//!
//! let mut app = App::new();
//! app.add_plugins((MinimalPlugins, SteeringPlugins::default()));
//! // After SteeringPlugins; draws nothing where there is no GizmoPlugin.
//! app.add_plugins((SteeringOverlayPlugin, SteeringTimePlugin));
//! app.update();
//! ```
//!
//! All of it only reads the simulation, until somebody moves a slider.

mod color;
mod draw;
mod edit;
mod log;
mod overlay;
#[cfg(feature = "egui")]
mod panel;
mod range;
mod select;
mod time;

#[cfg(feature = "egui")]
pub use crate::panel::{SteeringPanel, SteeringPanelApp, SteeringPanelPlugin, steering_panel};
pub use crate::{
    color::{behavior_color, overlay_color},
    edit::{
        Change, EditHistory, EditScope, EditStep, add_component, edit_field, group_of, remove_component,
        scope_entities, undo,
    },
    log::{ContributionLog, LoggedContribution},
    overlay::{
        OverlayKind, OverlayScope, ShowSteering, SteeringGizmos, SteeringOverlayPlugin, SteeringOverlays,
    },
    range::number_range,
    select::{SteeringInputFocus, SteeringSelection, SteeringSelectionPlugin, nearest_on_screen},
    time::{SteeringTimeControl, SteeringTimeKeys, SteeringTimePlugin, set_speed},
};
