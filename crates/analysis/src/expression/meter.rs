//! What an evaluation takes is counted before it is taken, so that no expression can take more than the limits say,
//! whatever it is given. A step is what takes about a tenth of a microsecond.

use super::evaluate::{Evaluator, Halt, at, failed};
use super::held::Held;
use super::limits;
use super::value::Value;

/// How many steps it takes to look at every byte of a text once.
pub(super) fn effort(bytes: usize) -> usize {
    bytes / 64
}

impl<'a> Evaluator<'a> {
    /// Counts work.
    pub(super) fn work(&mut self, position: usize, steps: usize) -> Result<(), Halt> {
        self.steps = self.steps.saturating_add(steps);
        if self.steps > limits::STEPS {
            return failed(position, format!("the expression takes more than {} steps", limits::STEPS));
        }
        Ok(())
    }

    /// Counts values that are made.
    pub(super) fn grow(&mut self, position: usize, values: usize) -> Result<(), Halt> {
        self.values = self.values.saturating_add(values);
        if self.values >= limits::VALUES {
            return failed(position, format!("the expression makes more than {} values", limits::VALUES));
        }
        Ok(())
    }

    /// Counts characters that are made.
    pub(super) fn write(&mut self, position: usize, characters: usize) -> Result<(), Halt> {
        self.characters = self.characters.saturating_add(characters);
        if self.characters > limits::CHARACTERS {
            return failed(
                position,
                format!("the expression makes texts of more than {} bytes", limits::CHARACTERS),
            );
        }
        self.work(position, effort(characters))
    }

    /// Notes a value that is compared, or made a whole number, which NaN is not.
    pub(super) fn meet(&mut self, position: usize, value: &Value) -> Result<(), Halt> {
        if let Value::List(_) = value {
            self.work(position, value.weight())?;
        }
        self.met_nan |= value.has_nan();
        Ok(())
    }

    /// A copy that is paid for.
    pub(super) fn copy(&mut self, position: usize, value: &Value) -> Result<Value, Halt> {
        self.work(position, value.weight())?;
        Ok(value.clone())
    }

    /// A part of a value, borrowed if the whole is.
    pub(super) fn part(
        &mut self,
        position: usize,
        whole: &Held<'a>,
        pick: impl for<'v> Fn(&'v Value) -> Result<&'v Value, String>,
    ) -> Result<Held<'a>, Halt> {
        match whole {
            Held::Borrowed(value) => at(position, pick(value)).map(Held::Borrowed),
            Held::Shared(value) => {
                let part = at(position, pick(value))?;
                self.copy(position, part).map(Held::Owned)
            }
            Held::Owned(value) => {
                let part = at(position, pick(value))?;
                self.copy(position, part).map(Held::Owned)
            }
        }
    }

    /// The value itself; a copy only if it is held elsewhere.
    pub(super) fn owned(&mut self, position: usize, held: Held<'a>) -> Result<Value, Halt> {
        match held {
            Held::Owned(value) => Ok(value),
            other => self.copy(position, &other),
        }
    }
}
