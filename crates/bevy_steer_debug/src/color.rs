//! One colour for each behaviour, the same in overlays and panel.

use bevy::{color::Oklcha, prelude::*};
use bevy_steer::BehaviorId;

use crate::overlay::OverlayKind;

/// Behaviours that are often seen together have colours that are easy to tell apart.
const KNOWN: [(&str, [f32; 3]); 26] = [
    ("Seek", [0.31, 0.82, 0.77]),
    ("Flee", [0.95, 0.45, 0.62]),
    ("Arrive", [0.53, 0.83, 0.42]),
    ("Pursue", [0.96, 0.77, 0.33]),
    ("Evade", [0.87, 0.46, 0.88]),
    ("OffsetPursue", [0.86, 0.70, 0.53]),
    ("Wander", [0.66, 0.55, 0.98]),
    ("PathFollow", [0.42, 0.66, 0.98]),
    ("PathCorridor", [0.55, 0.78, 0.86]),
    ("FlockMember", [0.45, 0.88, 0.99]),
    ("Separation", [0.97, 0.55, 0.36]),
    ("ObstacleFeeler", [0.98, 0.36, 0.34]),
    ("UnitAvoidance", [0.99, 0.64, 0.20]),
    ("CollisionAvoidance", [0.90, 0.58, 0.45]),
    ("FlowField", [0.36, 0.78, 0.58]),
    ("Interpose", [0.80, 0.86, 0.40]),
    ("Hide", [0.60, 0.52, 0.76]),
    ("Surround", [0.93, 0.60, 0.76]),
    ("FormationSlot", [0.70, 0.80, 0.98]),
    ("Queueing", [0.78, 0.62, 0.40]),
    ("Containment", [0.93, 0.40, 0.48]),
    ("WallFollow", [0.62, 0.76, 0.46]),
    ("MatchVelocity", [0.50, 0.72, 0.72]),
    ("Brake", [0.70, 0.73, 0.78]),
    ("Fence", [0.91, 0.51, 0.53]),
    ("LeaderFollow", [0.90, 0.80, 0.62]),
];

/// The colour of a behaviour. It depends on nothing but the id, so a behaviour looks the same in every app.
#[must_use]
pub fn behavior_color(id: BehaviorId) -> Color {
    match KNOWN.iter().find(|(name, _)| BehaviorId::new(name) == id) {
        Some((_, [r, g, b])) => Color::srgb(*r, *g, *b),
        // Multiples of the golden angle lie far apart for any ids.
        None => {
            let hue = (f64::from(id.get()) * 137.507_764_05).rem_euclid(360.0) as f32;
            Oklcha::lch(0.78, 0.12, hue).into()
        }
    }
}

/// The colour of what an overlay draws, where it isn't a behaviour's.
#[must_use]
pub fn overlay_color(kind: OverlayKind) -> Color {
    match kind {
        OverlayKind::Velocity => Color::srgb(0.92, 0.94, 0.97),
        OverlayKind::Force => Color::srgb(1.0, 0.86, 0.30),
        OverlayKind::Desired => Color::srgb(0.46, 0.72, 1.0),
        OverlayKind::Contributions => Color::srgb(0.97, 0.55, 0.36),
        OverlayKind::Feelers => behavior_color(BehaviorId::new("ObstacleFeeler")),
        OverlayKind::Radii => Color::srgb(0.58, 0.65, 0.76),
        OverlayKind::Neighbors => Color::srgb(0.45, 0.88, 0.99),
        OverlayKind::Paths => behavior_color(BehaviorId::new("PathFollow")),
        OverlayKind::Targets => Color::srgb(0.53, 0.83, 0.42),
        OverlayKind::Cells => Color::srgb(0.30, 0.36, 0.46),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_differ_and_are_bright_enough_for_a_dark_ground() {
        let color = |name| behavior_color(BehaviorId::new(name)).to_srgba();
        let colors: Vec<_> = KNOWN.iter().map(|&(name, _)| (name, color(name))).collect();
        for (i, (name, a)) in colors.iter().enumerate() {
            assert!(a.red.max(a.green).max(a.blue) > 0.6, "{name} is too dark");
            for (other, b) in &colors[..i] {
                let d = Vec3::new(a.red - b.red, a.green - b.green, a.blue - b.blue).length();
                assert!(d > 0.06, "{name} and {other} look alike");
            }
        }
        for name in ["Wind", "Gravity", "Game"] {
            let own = color(name);
            assert!(own.red.max(own.green).max(own.blue) > 0.6, "{name} is too dark");
        }
    }
}
