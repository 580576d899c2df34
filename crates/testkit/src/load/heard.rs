//! A process that is started to be killed, and what it says until then, line by line on a pipe, which outlives it.

use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
    str::FromStr,
    sync::mpsc::{Receiver, channel},
    thread,
};

use crate::world::Broken;

/// A process under way. Whoever has it ends it.
pub(crate) struct Running<S> {
    pub(crate) child: Child,
    /// What it said; the words of the failure where a line cannot be read.
    pub(crate) said: Receiver<Result<S, String>>,
}

impl<S: FromStr<Err = Broken> + Send + 'static> Running<S> {
    /// Starts a process and listens to it.
    ///
    /// # Errors
    /// When it cannot be started.
    pub(crate) fn start(command: &mut Command) -> Result<Self, Broken> {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
        let (pipe, (sent, said)) = (child.stdout.take().ok_or("no pipe")?, channel());
        thread::spawn(move || {
            for line in BufReader::new(pipe).lines() {
                let line = line.map_err(|error| error.to_string());
                let heard = line.and_then(|line| line.parse::<S>().map_err(|error| error.to_string()));
                if sent.send(heard).is_err() {
                    return;
                }
            }
        });
        Ok(Self { child, said })
    }
}
