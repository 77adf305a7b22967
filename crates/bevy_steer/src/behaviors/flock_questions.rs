//! What flock members ask the grid: most ask the same, so that a small number stands for a question.

use bevy::{ecs::change_detection::Tick, math::ops};
use bevy_steer_grid::{Falloff, FlockQuery};

use super::flock::{FlockLaw, FlockMember};
use crate::{parallel::BATCH, plane::SteeringPlane};

/// A question that several members have in common.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Question {
    pub(crate) member: FlockMember,
    pub(crate) plane: SteeringPlane,
    pub(crate) query: FlockQuery,
    /// The largest radius.
    reach: f32,
}

impl Question {
    fn new(member: &FlockMember, plane: SteeringPlane) -> Self {
        let view = member.field_of_view;
        let sees_all = !(view.is_finite() && (0.0..360.0).contains(&view));
        Self {
            member: *member,
            plane,
            query: FlockQuery {
                falloff: match member.law {
                    FlockLaw::Smooth => Falloff::Smooth,
                    FlockLaw::Classic => Falloff::Hard,
                },
                separation_radius: member.separation_radius,
                alignment_radius: member.alignment_radius,
                cohesion_radius: member.cohesion_radius,
                cos_half_view: if sees_all { -2.0 } else { ops::cos(0.5 * view.to_radians()) },
                max_neighbors: member.max_neighbors,
            },
            reach: member.reach(),
        }
    }

    #[inline]
    fn is_of(&self, member: &FlockMember, plane: SteeringPlane) -> bool {
        self.plane == plane && self.member.is_same(member)
    }
}

/// Questions that every batch knows.
const KNOWN: usize = 8;

/// The questions of all members in a tick. A question's *mark*, above 0, stands for it.
#[derive(Default)]
pub(crate) struct FlockQuestions {
    /// What was asked in the last tick too, the same mark wherever it is asked.
    known: Vec<Question>,
    /// What else is asked, batch by batch.
    batches: Vec<BatchQuestions>,
    plane: SteeringPlane,
    /// When they were asked.
    asked: Option<Tick>,
}

/// The questions of a batch of agents. Agents are asked as they are gathered for the grid, so that the grid holds what each
/// asks beside where it is.
#[derive(Default)]
pub(crate) struct BatchQuestions {
    different: Vec<Question>,
    /// A bit for each known question that is asked.
    used: u32,
    last: Option<(u32, Question)>,
}

impl FlockQuestions {
    /// Makes ready for a tick with so many batches, and with this plane for who has none of his own; answers when the marks
    /// of the last tick's questions were made, if they still hold.
    pub(crate) fn begin(&mut self, batches: usize, plane: SteeringPlane, now: Tick) -> Option<Tick> {
        let Self { known, batches: all, .. } = self;
        let before = known.len();
        let used = all.iter().fold(0, |used, batch| used | batch.used);
        let mut bits = (0..).map(|n| used >> n & 1 == 1);
        known.retain(|_| bits.next().unwrap_or_default());
        // What is new comes behind.
        let same = known.len() == before && plane == self.plane;
        self.plane = plane;
        let asked = self.asked.replace(now).filter(|_| same);
        for question in all.iter().flat_map(|batch| batch.different.iter().take(KNOWN)) {
            if known.len() < KNOWN && !known.iter().any(|q| q.is_of(&question.member, question.plane)) {
                known.push(*question);
            }
        }
        if all.len() < batches {
            all.resize_with(batches, BatchQuestions::default);
        }
        all.iter_mut().for_each(BatchQuestions::clear);
        asked
    }

    /// What is known, and the batches.
    pub(crate) fn split(&mut self) -> (&[Question], &mut [BatchQuestions]) {
        (&self.known, &mut self.batches)
    }

    /// The question under a mark.
    #[inline]
    pub(crate) fn get(&self, mark: u32) -> Option<&Question> {
        let place = mark.checked_sub(1)? as usize;
        match place.checked_sub(KNOWN) {
            None => self.known.get(place),
            Some(place) => self.batches[place / BATCH].different.get(place % BATCH),
        }
    }
}

impl BatchQuestions {
    pub(crate) fn clear(&mut self) {
        self.different.clear();
        (self.used, self.last) = (0, None);
    }

    /// Enters what one agent of the batch with this `number` asks; answers the mark of the question, and how far it looks.
    #[inline]
    pub(crate) fn ask(
        &mut self,
        known: &[Question],
        number: usize,
        member: &FlockMember,
        plane: SteeringPlane,
    ) -> (u32, f32) {
        match &self.last {
            Some((mark, question)) if question.is_of(member, plane) => (*mark, question.reach),
            _ => self.find(known, number, member, plane),
        }
    }

    /// Enters the question of the last tick under this mark, if it is a known one, of this plane.
    #[inline]
    pub(crate) fn ask_again(
        &mut self,
        known: &[Question],
        mark: u32,
        plane: SteeringPlane,
    ) -> Option<(u32, f32)> {
        let place = mark.checked_sub(1)?;
        let question = known.get(place as usize).filter(|question| question.plane == plane)?;
        self.used |= 1 << place;
        Some((mark, question.reach))
    }

    #[inline(never)]
    fn find(
        &mut self,
        known: &[Question],
        number: usize,
        member: &FlockMember,
        plane: SteeringPlane,
    ) -> (u32, f32) {
        let same = |q: &Question| q.is_of(member, plane);
        let (place, question) = if let Some(place) = known.iter().position(same) {
            self.used |= 1 << place;
            (place, known[place])
        } else {
            // A few kinds of agents side by side; agents that all differ are not searched for.
            let place = self.different.iter().take(KNOWN).position(same).unwrap_or(self.different.len());
            if place == self.different.len() {
                self.different.push(Question::new(member, plane));
            }
            (KNOWN + number * BATCH + place, self.different[place])
        };
        let mark = place as u32 + 1;
        self.last = Some((mark, question));
        (mark, question.reach)
    }
}

#[cfg(test)]
mod tests {
    use bevy::prelude::*;

    use super::*;
    use crate::{SteeringDefaults, SteeringGroup, testing::*};

    const XY: SteeringPlane = SteeringPlane::Xy;

    fn member(weight: f32) -> FlockMember {
        FlockMember { weight, ..FlockMember::default() }
    }

    #[test]
    fn what_was_asked_in_the_last_tick_has_one_mark_everywhere() {
        let mut questions = FlockQuestions::default();
        let mut ask = |asked: &[&[f32]]| {
            questions.begin(asked.len(), XY, Tick::new(0));
            let (known, batches) = questions.split();
            let marks: Vec<Vec<u32>> = asked
                .iter()
                .zip(batches)
                .enumerate()
                .map(|(n, (weights, batch))| {
                    weights.iter().map(|&weight| batch.ask(known, n, &member(weight), XY).0).collect()
                })
                .collect();
            for (marks, weights) in marks.iter().zip(asked) {
                for (&mark, &weight) in marks.iter().zip(*weights) {
                    assert_eq!(questions.get(mark).map(|q| q.member.weight), Some(weight));
                }
            }
            marks
        };
        let first = ask(&[&[1.0, 2.0, 1.0], &[1.0, 3.0]]);
        assert_eq!(first[0][0], first[0][2], "the same within a batch");
        assert_ne!(first[0][0], first[1][0], "nothing is known yet");
        let second = ask(&[&[1.0, 2.0], &[2.0, 1.0]]);
        assert_eq!((second[0][0], second[0][1]), (second[1][1], second[1][0]));
        // What nobody asks any more makes room.
        let others: Vec<f32> = (10..30).map(|n| n as f32).collect();
        ask(&[&others, &[1.0]]);
        ask(&[&others, &[1.0]]);
        let last = ask(&[&others, &others]);
        assert_eq!(last[0][..7], last[1][..7]);
        assert!(last[0][19] != last[1][19], "only a few are known");
    }

    #[test]
    fn each_field_makes_a_different_question() {
        let usual = FlockMember::default();
        let others = [
            FlockMember { law: FlockLaw::Classic, ..usual },
            FlockMember { separation: super::super::flock::SeparationMode::Mean, ..usual },
            FlockMember { separation_radius: 9.0, ..usual },
            FlockMember { separation_weight: 9.0, ..usual },
            FlockMember { alignment_radius: 9.0, ..usual },
            FlockMember { alignment_weight: 9.0, ..usual },
            FlockMember { cohesion_radius: 9.0, ..usual },
            FlockMember { cohesion_weight: 9.0, ..usual },
            FlockMember { cruise_weight: 9.0, ..usual },
            FlockMember { field_of_view: 9.0, ..usual },
            FlockMember { max_neighbors: Some(9), ..usual },
            FlockMember { weight: 9.0, ..usual },
            FlockMember { priority: crate::SteeringPriority::IDLE, ..usual },
        ];
        let mut batch = BatchQuestions::default();
        let mut marks: Vec<u32> = others.iter().map(|other| batch.ask(&[], 0, other, XY).0).collect();
        marks.push(batch.ask(&[], 0, &usual, XY).0);
        marks.push(batch.ask(&[], 0, &usual, SteeringPlane::Xz).0);
        marks.sort_unstable();
        marks.dedup();
        assert_eq!(marks.len(), 15);
    }

    #[test]
    fn rules_that_change_hold_from_that_tick_on() {
        // Questions are remembered from tick to tick: whatever changes must show, as in a world that has no past.
        let weak = FlockMember { separation_weight: 0.5, ..default() };
        let start = |n: usize| Vec3::new(n as f32 * 0.7, (n % 2) as f32, (n % 3) as f32);
        for change in 0..8 {
            let mut old = Sim::new(60.0);
            let mut agents: Vec<Entity> =
                (0..6).map(|n| old.moving(start(n), Vec3::X, FlockMember::default())).collect();
            let world = old.app.world_mut();
            if change == 6 {
                agents.iter().for_each(|&a| _ = world.entity_mut(a).insert(SteeringPlane::Xz));
            }
            old.ticks(4);
            let world = old.app.world_mut();
            match change {
                0 => *world.get_mut::<FlockMember>(agents[2]).expect("a member") = weak,
                1 => {
                    // The last one takes the place of the first in storage.
                    world.despawn(agents.remove(0));
                }
                2 => {
                    world.entity_mut(agents[3]).remove::<FlockMember>().insert(weak);
                }
                3 => world.resource_mut::<SteeringDefaults>().plane = SteeringPlane::Xz,
                4 => {
                    world.entity_mut(agents[1]).insert(SteeringGroup(4));
                }
                6 => agents.iter().for_each(|&a| _ = world.entity_mut(a).remove::<SteeringPlane>()),
                7 => agents.iter().for_each(|&a| _ = world.entity_mut(a).insert(SteeringPlane::Xz)),
                _ => {
                    agents.iter().for_each(|&a| *world.get_mut::<FlockMember>(a).expect("a member") = weak);
                }
            }
            let mut new = Sim::new(60.0);
            new.app.world_mut().resource_mut::<SteeringDefaults>().plane =
                old.app.world().resource::<SteeringDefaults>().plane;
            let copies: Vec<Entity> = agents
                .iter()
                .map(|&agent| {
                    let member = *old.app.world().get::<FlockMember>(agent).expect("a member");
                    let group = old.app.world().get::<SteeringGroup>(agent).copied().unwrap_or_default();
                    let plane = old.app.world().get::<SteeringPlane>(agent).copied();
                    let plane = plane.unwrap_or(old.app.world().resource::<SteeringDefaults>().plane);
                    new.moving(old.position(agent), old.velocity(agent), (member, group, plane))
                })
                .collect();
            old.tick();
            new.tick();
            for (&agent, &copy) in agents.iter().zip(&copies) {
                assert!(old.force(agent).distance(new.force(copy)) < 1e-4, "change {change}");
            }
            assert!(agents.iter().any(|&agent| old.force(agent) != Vec3::ZERO));
        }
    }
}
