//! Texts made to cost a parser time or memory: each is given up after work that its length bounds, and so is given up again.
//! What is only unusual is parsed.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests read what the system says, and may panic"
)]

use std::{fs, sync::mpsc, thread, time::Duration};

use readproof_index::{Language, NoOutline, Parsers};

/// What the process has held at most, in kilobytes.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

fn outcome(language: Language, text: String) -> Result<usize, NoOutline> {
    let (sender, done) = mpsc::channel();
    thread::spawn(move || {
        let outline = Parsers::default().outline(language, &text, &|| false);
        sender.send(outline.map(|outline| outline.symbols.len())).unwrap();
    });
    done.recv_timeout(Duration::from_secs(30)).expect("it takes too long")
}

#[test]
#[cfg(target_os = "linux")]
fn bombs_are_given_up_and_take_little_memory() {
    for (language, unit, bytes) in [
        (Language::Java, "a<", 4_000),
        (Language::Java, "a<", 200_000),
        (Language::Java, "a=>", 6_000),
        (Language::C, "a=>", 100_000),
        (Language::CSharp, "a<", 800_000),
        (Language::TypeScript, "a<b,", 2_000_000),
        (Language::Cpp, "a<", 2_000_000),
        (Language::JavaScript, "lambda a:", 45_000),
        (Language::Ruby, "a?b:", 100_000),
        (Language::Kotlin, "a=", 100_000),
        (Language::Rust, "!", 2_000_000),
        (Language::Python, "(", 100_000),
        (Language::Swift, "a\n", 2_000_000),
    ] {
        let given = outcome(language, unit.repeat(bytes / unit.len()));
        assert_eq!(given, Err(NoOutline::TooHard), "{unit:?} in {language:?}");
        assert!(peak() < 200_000, "{unit:?} in {language:?}: {} kB", peak());
    }
}

#[test]
fn the_unusual_is_parsed() {
    let table = format!("static int t[] = {{{}}};\nint f(void) {{ return 0; }}\n", "0x12, ".repeat(20_000));
    assert_eq!(outcome(Language::C, table), Ok(2));
    let chain =
        format!("int f(int a) {{ if (a) {{}} {} return 1; }}\n", "else if (a < 3) { a = a << 2; }\n".repeat(300));
    assert_eq!(outcome(Language::C, chain), Ok(1));
    let sum = format!("class A {{ String s = \"\"{}; }}", "\n + \"<b>\"".repeat(2_000));
    assert_eq!(outcome(Language::Java, sum), Ok(2));
    let generic = format!("class A {{ {}B{} b; }}", "List<".repeat(60), ">".repeat(60));
    assert_eq!(outcome(Language::Java, generic), Ok(2));
    let choice = format!("const f = (a) => {}0;\n", "a === 1 ? 'x' :\n".repeat(300));
    assert_eq!(outcome(Language::JavaScript, choice), Ok(1));
    let body = |n: u32| if n.is_multiple_of(3) { "MACRO(x) @ return 1;" } else { "return 1 + 2;" };
    let odd: String = (0..600).map(|n| format!("int f{n}(void) {{ {} }}\n", body(n))).collect();
    assert_eq!(outcome(Language::C, odd), Ok(600));
}

#[test]
fn who_loses_interest_is_heard_within_a_report() {
    let text = "lambda a:".repeat(800);
    let asked = std::cell::Cell::new(0_u32);
    let later = || asked.replace(asked.get() + 1) >= 20;
    assert_eq!(Parsers::default().outline(Language::JavaScript, &text, &later), Err(NoOutline::Cancelled));
    assert!(asked.get() <= 22, "{}", asked.get());
}
