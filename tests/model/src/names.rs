//! Gives runs and pods the smallest numbers that tell them apart. Only whether two of them are the same ever matters,
//! so states that differ in nothing but numbers are one state.

use crate::look::Request;
use crate::memory::{SmallMemo, SmallRun};
use crate::set::{PODS, Set, SmallRecord};
use crate::world::{Flight, State};

/// Numbers anew what the state speaks of.
pub(crate) fn rename(state: &mut State) {
    let mut runs = Vec::new();
    each_run(state, &mut |run| runs.push(*run));
    forget_records_of_other_runs(state, &runs);
    let runs = ranked(runs);
    each_run(state, &mut |run| *run = rank(&runs, *run));
    each_record(state, &mut |record| record.run = rank(&runs, record.run));
    for slot in 0..usize::from(PODS) {
        let mut uids = Vec::new();
        each_uid(state, slot, &mut |uid| uids.push(*uid));
        let uids = ranked(uids);
        each_uid(state, slot, &mut |uid| *uid = rank(&uids, *uid));
    }
}

/// A record of a run that nobody remembers says nothing.
fn forget_records_of_other_runs(state: &mut State, runs: &[u8]) {
    let views = state.view.iter_mut().map(|view| &mut view.set);
    for set in views.chain([&mut state.set]) {
        set.record = set.record.filter(|record| runs.contains(&record.run));
    }
}

fn ranked(mut numbers: Vec<u8>) -> Vec<u8> {
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

fn rank(numbers: &[u8], number: u8) -> u8 {
    let position = numbers.iter().position(|known| *known == number);
    position.and_then(|position| u8::try_from(position).ok()).unwrap_or(number)
}

fn memos(state: &mut State) -> impl Iterator<Item = &mut SmallMemo> {
    let flying = match &mut state.flight {
        Some(Flight { request: Request::Store(memo, _), .. }) => Some(memo),
        _ => None,
    };
    [&mut state.rollout.memo].into_iter().chain(flying)
}

fn each_run(state: &mut State, act: &mut dyn FnMut(&mut u8)) {
    for run in memos(state).filter_map(|memo| memo.run.as_mut()) {
        act(&mut run.number);
    }
}

fn each_record(state: &mut State, act: &mut dyn FnMut(&mut SmallRecord)) {
    let flying = match &mut state.flight {
        Some(Flight { request: Request::Expose(_, record), .. }) => record.as_mut(),
        _ => None,
    };
    let views = state.view.iter_mut().map(|view| &mut view.set);
    let kept = views.chain([&mut state.set]).filter_map(|set: &mut Set| set.record.as_mut());
    kept.chain(flying).for_each(act);
}

fn each_uid(state: &mut State, slot: usize, act: &mut dyn FnMut(&mut u8)) {
    for run in memos(state).filter_map(|memo| memo.run.as_mut()) {
        let run: &mut SmallRun = run;
        run.freed[slot].iter_mut().for_each(&mut *act);
    }
    let views = state.view.iter_mut().map(|view| &mut view.set);
    for set in views.chain([&mut state.set]) {
        set.pods[slot].iter_mut().for_each(|pod| act(&mut pod.uid));
    }
    if let Some(Flight { request: Request::Delete(ordinal, uid), .. }) = &mut state.flight
        && usize::from(*ordinal) == slot
    {
        act(uid);
    }
}
