//! Starts a program, logs its output, and interprets it. The only place that knows how a violation is reported.

use std::{
    fs::{self, File},
    path::Path,
    process::Command,
    thread,
    time::{Duration, Instant},
};

use crate::Failure;

/// How often a running program is checked.
const POLL: Duration = Duration::from_millis(20);

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// With this exit code; `None` if a signal ended it.
    Exit(Option<i32>),
    /// It ran longer than this and was killed.
    Stopped(Duration),
}

/// What a run says about a mutant.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The reader saw a violation, at this step if the run named one.
    Caught { step: Option<u64> },
    /// The run found nothing.
    Missed,
    /// The run says nothing about the hole: the patch did not apply, did not build, or the run did not end properly.
    Broken(String),
}

impl Verdict {
    /// For the table.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Self::Caught { .. } => "caught",
            Self::Missed => "missed",
            Self::Broken(_) => "broken",
        }
    }

    /// For the progress line.
    pub(crate) fn explain(&self) -> String {
        match self {
            Self::Caught { step: Some(step) } => format!("caught at step {step}"),
            Self::Caught { step: None } | Self::Missed => self.word().to_owned(),
            Self::Broken(reason) => format!("broken: {reason}"),
        }
    }
}

/// Runs a program to its end or to the time limit; all its output goes to the log file.
pub(crate) fn run_logged(command: &mut Command, log: &Path, limit: Duration) -> Result<Ended, Failure> {
    let name = command.get_program().display().to_string();
    let lost = |error: std::io::Error| Failure::failed(format!("{name} was started, but then: {error}"));
    let out = File::create(log).map_err(|error| Failure::io(log, &error))?;
    let err = out.try_clone().map_err(|error| Failure::io(log, &error))?;
    let child = command.stdout(out).stderr(err).spawn();
    let mut child = child.map_err(|error| Failure::not_started(&name, &error))?;
    let begin = Instant::now();
    loop {
        if let Some(status) = child.try_wait().map_err(lost)? {
            return Ok(Ended::Exit(status.code()));
        }
        if begin.elapsed() > limit {
            child.kill().map_err(lost)?;
            child.wait().map_err(lost)?;
            return Ok(Ended::Stopped(limit));
        }
        thread::sleep(POLL);
    }
}

/// The output of a run.
pub(crate) fn read_log(log: &Path) -> Result<String, Failure> {
    let bytes = fs::read(log).map_err(|error| Failure::io(log, &error))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Only a violation that the reader reported counts as caught; a crash does not.
pub(crate) fn judge(ended: Ended, output: &str) -> Verdict {
    let violation = output.lines().find(|line| line.starts_with("VIOLATION"));
    match (ended, violation) {
        (Ended::Exit(Some(0)), None) => Verdict::Missed,
        (Ended::Exit(Some(1)), Some(line)) => Verdict::Caught { step: step(line) },
        (Ended::Exit(Some(0)), Some(_)) => Verdict::Broken("reports a violation, yet exits with code 0".to_owned()),
        (Ended::Exit(Some(1)), None) => Verdict::Broken("exits with code 1 without a line `VIOLATION …`".to_owned()),
        (Ended::Exit(Some(code)), _) => Verdict::Broken(format!("exits with code {code}")),
        (Ended::Exit(None), _) => Verdict::Broken("ended by a signal".to_owned()),
        (Ended::Stopped(limit), _) => Verdict::Broken(format!("still running after {} s", limit.as_secs())),
    }
}

/// The same for tests: only one that failed counts as caught; a build that failed does not.
pub(crate) fn judge_tests(ended: Ended, output: &str) -> Verdict {
    match ended {
        Ended::Exit(Some(0)) => Verdict::Missed,
        Ended::Exit(Some(_)) if output.contains("test result: FAILED") => Verdict::Caught { step: None },
        Ended::Exit(code) => Verdict::Broken(format!("no test failed, and the exit code is {code:?}")),
        Ended::Stopped(limit) => Verdict::Broken(format!("still running after {} s", limit.as_secs())),
    }
}

/// The step in `VIOLATION at step N: …`.
fn step(line: &str) -> Option<u64> {
    line.strip_prefix("VIOLATION at step ")?.split(':').next()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_reported_violation_counts_as_caught() {
        let violation = "table\nVIOLATION at step 812: line 3 is not visible\nmore\n";
        let check = |ended, output: &str, expected: &str| assert_eq!(judge(ended, output).explain(), expected);
        check(Ended::Exit(Some(1)), violation, "caught at step 812");
        check(Ended::Exit(Some(1)), "VIOLATION\n", "caught");
        check(Ended::Exit(Some(0)), "all fine\n", "missed");
        check(Ended::Exit(Some(0)), violation, "broken: reports a violation, yet exits with code 0");
        check(Ended::Exit(Some(1)), "no VIOLATION\n", "broken: exits with code 1 without a line `VIOLATION …`");
        check(Ended::Exit(Some(2)), violation, "broken: exits with code 2");
        check(Ended::Exit(Some(101)), "panicked", "broken: exits with code 101");
        check(Ended::Exit(None), violation, "broken: ended by a signal");
        check(Ended::Stopped(Duration::from_secs(9)), violation, "broken: still running after 9 s");
    }

    #[cfg(unix)]
    #[test]
    fn a_run_that_hangs_is_stopped_and_its_output_is_kept() {
        let log = std::env::temp_dir().join(format!("xtask-runs-{}.txt", std::process::id()));
        let limit = Duration::from_millis(300);
        let hang = run_logged(Command::new("sh").args(["-c", "echo begun; exec sleep 600"]), &log, limit).unwrap();
        assert_eq!((hang, read_log(&log).unwrap().as_str()), (Ended::Stopped(limit), "begun\n"));
        let end = run_logged(Command::new("sh").args(["-c", "echo out; echo err >&2; exit 7"]), &log, Duration::MAX);
        assert_eq!((end.unwrap(), read_log(&log).unwrap().as_str()), (Ended::Exit(Some(7)), "out\nerr\n"));
        fs::remove_file(&log).unwrap();
    }
}
