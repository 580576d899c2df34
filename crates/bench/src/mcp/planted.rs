//! A large tree of source files in six languages, the same in every run: what the benches search that compare with ripgrep.

use std::{
    fs,
    path::Path,
    time::{Duration, SystemTime},
};

use crate::Broken;

/// Makes the tree; `add` may append to the text of each file, by its number. Returns how many bytes the files have.
pub(crate) fn plant(tree: &Path, files: u32, add: &dyn Fn(u32, &mut String)) -> Result<u64, Broken> {
    // Looks like a tree that was not created just now.
    let long_ago = SystemTime::now() - Duration::from_secs(3600);
    let mut bytes = 0;
    for number in 0..files {
        let path = tree.join(place(number));
        if number % PER_FOLDER == 0 {
            fs::create_dir_all(path.parent().ok_or("a file has a folder")?)?;
        }
        let mut text = text(number);
        add(number, &mut text);
        fs::write(&path, &text)?;
        fs::File::options().write(true).open(&path)?.set_modified(long_ago)?;
        bytes += u64::try_from(text.len())?;
    }
    Ok(bytes)
}

const PER_FOLDER: u32 = 25;

/// The path of a file, relative to the tree.
pub(crate) fn place(number: u32) -> String {
    let (folder, ending) = (number / PER_FOLDER, language(number).ending);
    format!("area{}/part{}/unit_{number}.{ending}", folder / 40, folder % 40)
}

pub(crate) struct Language {
    ending: &'static str,
    /// A function with this name.
    pub(crate) define: fn(&str) -> String,
    /// A call of it.
    pub(crate) call: fn(&str) -> String,
    /// What a comment begins with.
    pub(crate) comment: &'static str,
}

/// Of a mixed tree.
const LANGUAGES: [Language; 6] = [
    Language {
        ending: "rs",
        define: |name| format!("pub fn {name}(input: &str) -> usize {{\n    input.len()\n}}\n\n"),
        call: |name| format!("pub fn later() {{\n    let _ = {name}(\"x\");\n}}\n\n"),
        comment: "//",
    },
    Language {
        ending: "py",
        define: |name| format!("def {name}(value):\n    return len(value)\n\n\n"),
        call: |name| format!("def later():\n    return {name}([])\n\n\n"),
        comment: "#",
    },
    Language {
        ending: "ts",
        define: |name| format!("export function {name}(input: string): number {{\n  return input.length;\n}}\n\n"),
        call: |name| format!("export const later = () => {name}('x');\n\n"),
        comment: "//",
    },
    Language {
        ending: "go",
        define: |name| format!("func {name}(input string) int {{\n\treturn len(input)\n}}\n\n"),
        call: |name| format!("func later() int {{\n\treturn {name}(\"x\")\n}}\n\n"),
        comment: "//",
    },
    Language {
        ending: "java",
        define: |name| {
            format!("class Of_{name} {{\n  static int {name}(String in) {{\n    return in.length();\n  }}\n}}\n\n")
        },
        call: |name| format!("class Later {{\n  int later() {{\n    return {name}(\"x\");\n  }}\n}}\n\n"),
        comment: "//",
    },
    Language {
        ending: "c",
        define: |name| format!("int {name}(const char *in)\n{{\n\treturn in[0];\n}}\n\n"),
        call: |name| format!("int later(void)\n{{\n\treturn {name}(\"x\");\n}}\n\n"),
        comment: "//",
    },
];

/// The language of a file.
pub(crate) fn language(number: u32) -> &'static Language {
    &LANGUAGES[number as usize % LANGUAGES.len()]
}

/// Most files are small, a few are long; the mean is about 7 KB.
fn text(number: u32) -> String {
    let mut dice = Dice::new(number ^ 0x5eed);
    let size = match dice.below(100) {
        0..60 => 600 + dice.below(3_000),
        60..90 => 3_600 + dice.below(8_000),
        90..99 => 12_000 + dice.below(24_000),
        _ => 60_000 + dice.below(60_000),
    };
    let (Language { define, call, comment, .. }, mut text) = (language(number), String::new());
    for part in 0_u32.. {
        if text.len() >= size as usize {
            break;
        }
        text += &define(&format!("handle_{}_{number}_{part}", WORDS[dice.below(16) as usize]));
        for _ in 0..dice.below(6) {
            let mut word = || WORDS[dice.below(16) as usize];
            text += &format!("{comment} The {} of a {} is checked before its {}.\n", word(), word(), word());
        }
        if part % 5 == 4 {
            text += &call(&format!("handle_{}_{number}_{}", WORDS[dice.below(16) as usize], part / 2));
        }
    }
    text
}

const WORDS: [&str; 16] = [
    "request", "response", "session", "ledger", "account", "buffer", "index", "token", "stream", "packet", "cursor",
    "record", "filter", "region", "worker", "policy",
];

/// The same numbers in every run.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u32) -> Self {
        Self(u64::from(seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn below(&mut self, most: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        u32::try_from((self.0 >> 32) % u64::from(most.max(1))).unwrap_or(0)
    }
}
