//! What an accumulator holds, in one line of cache for most agents: a tick walks through all of them twice.

use super::{BehaviorId, Contribution, SteeringGoal};

/// Contributions that fit into an accumulator without heap memory; a goal takes the place of one.
pub const INLINE_CONTRIBUTIONS: usize = 3;

/// Contributions, a goal, and what else an accumulator knows.
#[derive(Debug, Clone)]
pub(super) enum Store {
    Few {
        len: u8,
        held: bool,
        /// Whether the last place holds the goal.
        has_goal: bool,
        places: [Contribution; INLINE_CONTRIBUTIONS],
    },
    /// For those who once needed more; it is kept, for they will need it again.
    Many(Box<Many>),
}

#[derive(Debug, Clone, Default)]
pub(super) struct Many {
    contributions: Vec<Contribution>,
    goal: Option<SteeringGoal>,
    held: bool,
    rejected: Option<BehaviorId>,
}

/// The place of the goal.
const GOAL: usize = INLINE_CONTRIBUTIONS - 1;

impl Default for Store {
    fn default() -> Self {
        Self::Few {
            len: 0,
            held: false,
            has_goal: false,
            places: [Contribution::NOTHING; INLINE_CONTRIBUTIONS],
        }
    }
}

impl PartialEq for Store {
    fn eq(&self, other: &Self) -> bool {
        self.contributions() == other.contributions()
            && self.goal() == other.goal()
            && self.is_held() == other.is_held()
            && self.rejected() == other.rejected()
    }
}

impl Store {
    #[inline]
    pub(super) fn contributions(&self) -> &[Contribution] {
        match self {
            Self::Few { len, places, .. } => &places[..usize::from(*len)],
            Self::Many(many) => &many.contributions,
        }
    }

    #[inline]
    pub(super) fn contributions_mut(&mut self) -> &mut [Contribution] {
        match self {
            Self::Few { len, places, .. } => &mut places[..usize::from(*len)],
            Self::Many(many) => &mut many.contributions,
        }
    }

    #[inline]
    pub(super) fn push(&mut self, contribution: Contribution) {
        match self {
            Self::Few { len, has_goal, places, .. }
                if usize::from(*len) + usize::from(*has_goal) < INLINE_CONTRIBUTIONS =>
            {
                places[usize::from(*len)] = contribution;
                *len += 1;
            }
            _ => self.many().contributions.push(contribution),
        }
    }

    #[inline]
    pub(super) fn push_both(&mut self, [a, b]: [Contribution; 2]) {
        if let Self::Few { len, has_goal: false, places, .. } = self
            && *len == 0
        {
            // The usual case, at once.
            (places[0], places[1]) = (a, b);
            *len = 2;
        } else {
            self.push(a);
            self.push(b);
        }
    }

    /// Keeps the contributions for which `keep` holds.
    pub(super) fn retain(&mut self, mut keep: impl FnMut(&Contribution) -> bool) {
        match self {
            Self::Few { len, places, .. } => {
                let mut kept = 0;
                for n in 0..usize::from(*len) {
                    if keep(&places[n]) {
                        places[kept] = places[n];
                        kept += 1;
                    }
                }
                *len = kept as u8;
            }
            Self::Many(many) => many.contributions.retain(keep),
        }
    }

    #[inline]
    pub(super) fn goal(&self) -> Option<SteeringGoal> {
        match self {
            Self::Few { has_goal, places, .. } => has_goal.then(|| {
                let Contribution { value: position, weight: tolerance, key } = places[GOAL];
                SteeringGoal { position, tolerance, key }
            }),
            Self::Many(many) => many.goal,
        }
    }

    #[inline]
    pub(super) fn set_goal(&mut self, goal: Option<SteeringGoal>) {
        match (&mut *self, goal) {
            (Self::Few { has_goal, .. }, None) => *has_goal = false,
            (Self::Few { len, has_goal, places, .. }, Some(goal)) if usize::from(*len) <= GOAL => {
                let SteeringGoal { position: value, tolerance: weight, key } = goal;
                places[GOAL] = Contribution { value, weight, key };
                *has_goal = true;
            }
            _ => self.many().goal = goal,
        }
    }

    #[inline]
    pub(super) const fn is_held(&self) -> bool {
        match self {
            Self::Few { held, .. } => *held,
            Self::Many(many) => many.held,
        }
    }

    /// Ends the tick: holds what there is for the next one, or drops it.
    #[inline]
    pub(super) fn end_tick(&mut self, hold: bool) {
        match self {
            Self::Few { len, held, has_goal, .. } => {
                *held = hold;
                if !hold {
                    (*len, *has_goal) = (0, false);
                }
            }
            Self::Many(many) => {
                many.held = hold;
                if !hold {
                    many.contributions.clear();
                    many.goal = None;
                }
            }
        }
    }

    #[inline]
    pub(super) const fn rejected(&self) -> Option<BehaviorId> {
        match self {
            Self::Few { .. } => None,
            Self::Many(many) => many.rejected,
        }
    }

    #[cold]
    pub(super) fn set_rejected(&mut self, rejected: Option<BehaviorId>) {
        if rejected != self.rejected() {
            self.many().rejected = rejected;
        }
    }

    /// Room for more.
    #[cold]
    fn many(&mut self) -> &mut Many {
        if let Self::Few { .. } = self {
            let mut contributions = Vec::with_capacity(4 * INLINE_CONTRIBUTIONS);
            contributions.extend_from_slice(self.contributions());
            let many = Many { contributions, goal: self.goal(), held: self.is_held(), rejected: None };
            *self = Self::Many(Box::new(many));
        }
        match self {
            Self::Many(many) => many,
            Self::Few { .. } => unreachable!("it has just been made many"),
        }
    }
}

#[cfg(test)]
mod tests {
    use bevy::prelude::*;

    use super::*;
    use crate::{ContributionKind, SteeringPriority};

    fn contribution(n: usize) -> Contribution {
        let id = BehaviorId::new(["A", "B", "C", "D", "E"][n]);
        Contribution::new(ContributionKind::Push, id, Vec3::X * n as f32, 1.0, SteeringPriority::GOAL)
    }

    fn goal(n: usize) -> SteeringGoal {
        SteeringGoal { position: Vec3::Y * n as f32, tolerance: 0.5, key: n as u32 }
    }

    #[test]
    fn a_store_fills_one_line_of_cache() {
        assert_eq!((size_of::<Store>(), size_of::<crate::SteeringAccumulator>()), (64, 64));
    }

    #[test]
    fn it_holds_what_it_was_given_however_much_that_is() {
        // The goal before, between, after, or not at all.
        for count in 0..5 {
            for goal_at in 0..6 {
                let mut store = Store::default();
                for n in 0..=count {
                    if n == goal_at {
                        store.set_goal(Some(goal(n)));
                    }
                    if n < count {
                        store.push(contribution(n));
                    }
                }
                let expected: Vec<_> = (0..count).map(contribution).collect();
                let mut paired = store.clone();
                paired.push_both([contribution(3), contribution(4)]);
                assert_eq!(paired.contributions()[..count], expected);
                assert_eq!(paired.contributions()[count..], [contribution(3), contribution(4)]);
                assert_eq!(store.contributions(), expected);
                assert_eq!(store.goal(), (goal_at <= count).then(|| goal(goal_at)));
                let places = count + usize::from(goal_at <= count);
                assert_eq!(matches!(store, Store::Many(_)), places > INLINE_CONTRIBUTIONS);

                store.retain(|c| c.behavior() != BehaviorId::new("B"));
                assert_eq!(store.contributions().len(), if count > 1 { count - 1 } else { count });
                store.end_tick(true);
                assert!(store.is_held() && store.goal().is_some() == (goal_at <= count));
                store.end_tick(false);
                assert!(!store.is_held() && store.goal().is_none() && store.contributions().is_empty());
                assert_eq!(store, Store::default(), "whatever it looks like inside");
            }
        }
    }

    #[test]
    fn what_is_rejected_is_kept_aside() {
        let mut store = Store::default();
        store.push(contribution(1));
        store.set_rejected(Some(BehaviorId::new("A")));
        assert_eq!(
            (store.rejected(), store.contributions()),
            (Some(BehaviorId::new("A")), &[contribution(1)][..])
        );
        store.set_rejected(None);
        assert_eq!(store.rejected(), None);
    }
}
