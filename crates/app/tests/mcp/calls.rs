//! Calls as models make them (`integrations/mcp/calls`): nearly every one is answered at once, and the example in every error
//! is a call that gives what was wanted.

use crate::client::{Given, Server};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};
use tempfile::TempDir;

/// How many of a hundred calls must be answered at once.
const RIGHT: usize = 95;

fn table() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../integrations/mcp/calls")
}

/// The workspace with its real names, committed.
fn world() -> TempDir {
    let temp = tempfile::tempdir().unwrap();
    copy(&table().join("world"), temp.path());
    let git = |words: &[&str]| {
        let settings = ["-c", "user.name=n", "-c", "user.email=e", "-c", "core.autocrlf=false"];
        let done = Command::new("git").current_dir(temp.path()).args(settings).args(words).output().unwrap();
        assert!(done.status.success(), "{words:?}: {}", String::from_utf8_lossy(&done.stderr));
    };
    git(&["init", "-q"]);
    git(&["add", "-A"]);
    git(&["commit", "-qm", "all"]);
    temp
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let name = match name.strip_prefix("dot.") {
            Some(rest) => format!(".{rest}"),
            None if name == "gitignore" => ".gitignore".to_owned(),
            None => name,
        };
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to.join(name));
        } else {
            fs::copy(entry.path(), to.join(name)).unwrap();
        }
    }
}

/// The text of a file, decoded as its bytes show.
fn text(root: &Path, name: &str) -> String {
    let bytes = fs::read(root.join(name)).unwrap();
    if let Some(rest) = bytes.strip_prefix(b"\xff\xfe") {
        let units: Vec<u16> = rest.chunks(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
        return String::from_utf16(&units).unwrap();
    }
    String::from_utf8(bytes).unwrap_or_else(|error| error.into_bytes().iter().map(|byte| char::from(*byte)).collect())
}

fn lines(root: &Path, name: &str, first: usize, last: usize) -> String {
    text(root, name)
        .split_inclusive('\n')
        .skip(first.saturating_sub(1))
        .take((last + 1).saturating_sub(first))
        .collect()
}

/// What an answer says and names.
struct Said {
    blocks: Vec<String>,
    contract: Value,
    is_error: bool,
}

impl From<Given> for Said {
    fn from(given: Given) -> Self {
        Self { blocks: given.blocks, contract: given.contract, is_error: given.is_error }
    }
}

fn is_trailer(block: &str) -> bool {
    block.starts_with('[') && block.ends_with(']')
}

/// Why an answer is not the one that was wanted.
fn wrong(root: &Path, said: &Said, want: &Value) -> Option<String> {
    if said.is_error {
        return Some(format!("an error: {}", said.blocks[0]));
    }
    let one = want.get("file").is_some().then(|| vec![want.clone()]);
    let files = want.as_array().cloned().or(one).unwrap_or_default();
    if !files.is_empty() {
        return wrong_lines(root, said, &files);
    }
    let last = said.blocks.last().cloned().unwrap_or_default();
    if want.get("empty") == Some(&json!(true)) {
        let none = ["0 ", "no ", "unchanged", "\"exists\":false", "does not exist"];
        return (!none.iter().any(|word| last.contains(word))).then(|| format!("something was found: {last}"));
    }
    wrong_places(said, want)
}

fn wrong_lines(root: &Path, said: &Said, files: &[Value]) -> Option<String> {
    let mut blocks = said.blocks.iter();
    for file in files {
        let name = file["file"].as_str().unwrap();
        let (first, last) = (file["lines"][0].as_u64().unwrap() as usize, file["lines"][1].as_u64().unwrap() as usize);
        let wanted = lines(root, name, first, last);
        let wanted = wanted.strip_prefix('\u{feff}').unwrap_or(&wanted).to_owned();
        let given = if wanted.trim().is_empty() { Some(String::new()) } else { blocks.next().cloned() };
        let given = given.unwrap_or_default();
        let given = given.strip_prefix('\u{feff}').unwrap_or(&given);
        if given != wanted {
            let at = given.lines().next().unwrap_or_default();
            return Some(format!(
                "other lines than {name} {first}-{last}: {} lines from {at:?}; {:?}",
                given.lines().count(),
                said.blocks.last()
            ));
        }
        let trailer = blocks.next().cloned().unwrap_or_default();
        if !is_trailer(&trailer) || !trailer.contains(name) {
            return Some(format!("the trailer does not name {name}: {trailer}"));
        }
    }
    None
}

/// Paths, and numbers of lines, in the contract of a search, a list or an outline.
fn places(contract: &Value) -> Vec<(String, Vec<u64>)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut all: Vec<(String, Vec<u64>)> = Vec::new();
    for hit in contract["results"].as_array().into_iter().flatten() {
        let numbers = hit["lines"].as_array().into_iter().flatten().filter_map(Value::as_u64);
        let name_line = [&hit["name_line"], &hit["line"]].into_iter().filter_map(|line| line.as_u64());
        let path = if hit["path"].is_string() { &hit["path"] } else { &hit["file"] };
        all.push((text(path), numbers.chain(name_line).collect()));
    }
    for entry in contract["entries"].as_array().into_iter().flatten() {
        all.push((text(&entry["path"]), Vec::new()));
    }
    for file in contract["files"].as_array().into_iter().flatten() {
        let numbers = file["symbols"].as_array().into_iter().flatten();
        let numbers = numbers.flat_map(|symbol| [symbol["line"].as_u64(), symbol["name_line"].as_u64()]).flatten();
        all.push((text(&file["path"]), numbers.collect()));
    }
    if contract["path"].is_string() && contract["lines"].is_array() {
        let numbers = contract["lines"].as_array().into_iter().flatten().filter_map(Value::as_u64);
        all.push((text(&contract["path"]), numbers.collect()));
    }
    if let Some(file) = contract["location"]["file"].as_str() {
        let (first, last) = (contract["location"]["line"].as_u64(), contract["location"]["end_line"].as_u64());
        all.push((file.to_owned(), (first.unwrap_or(0)..=last.unwrap_or(0)).collect()));
    }
    if contract["exists"] == true {
        all.push((text(&contract["path"]), Vec::new()));
    }
    all
}

fn wrong_places(said: &Said, want: &Value) -> Option<String> {
    let all = places(&said.contract);
    let shown = said.blocks.concat();
    for place in want["found"].as_array().unwrap() {
        let file = place["file"].as_str().unwrap();
        let base = file.rsplit('/').next().unwrap();
        let found = all
            .iter()
            .any(|(path, numbers)| path == file && place["line"].as_u64().is_none_or(|line| numbers.contains(&line)));
        let printed = place["line"].as_u64().is_some_and(|line| {
            shown.contains(&format!("{file}:{line}:")) || shown.contains(&format!("{file}-{line}-"))
        });
        if !(found || printed) || !shown.contains(base) {
            return Some(format!("{place} is not shown: {:?}", said.blocks));
        }
    }
    let first = want["found"][0]["file"].as_str();
    if want["first"] == true && all.first().map(|(path, _)| path.as_str()) != first {
        return Some(format!("the first is {:?}, not {first:?}", all.first()));
    }
    None
}

/// The call after `example: `.
fn example(said: &Said) -> Option<(String, Value)> {
    let line = said.blocks[0].lines().find_map(|line| line.strip_prefix("example: "))?;
    let (tool, arguments) = line.split_once(' ')?;
    Some((tool.to_owned(), serde_json::from_str(arguments).ok()?))
}

fn with_root(arguments: &Value, root: &str) -> Value {
    serde_json::from_str(&arguments.to_string().replace("{root}", root)).unwrap()
}

#[test]
fn first_calls_are_answered_at_once() {
    let world = world();
    let root = world.path().canonicalize().unwrap();
    let rows = fs::read_to_string(table().join("calls.jsonl")).unwrap();
    let mut servers: BTreeMap<String, Server> = BTreeMap::new();
    let (mut count, mut failures, mut examples) = (0, Vec::new(), Vec::new());
    for row in rows.lines() {
        let row: Value = serde_json::from_str(row).unwrap();
        let cwd = row["cwd"].as_str().unwrap_or_default().to_owned();
        let server = servers.entry(cwd.clone()).or_insert_with(|| {
            let mut server = Server::spawn_at(tempfile::tempdir().unwrap(), &root.join(&cwd), &[]);
            server.initialize("2025-06-18");
            server
        });
        let arguments = with_root(&row["arguments"], root.to_str().unwrap());
        let said = Said::from(server.call(row["tool"].as_str().unwrap(), arguments));
        count += 1;
        let name = row["name"].as_str().unwrap();
        let want = &row["want"];
        let Some(code) = want["error"].as_str() else {
            failures.extend(wrong(&root, &said, want).map(|why| format!("{name}: {why}")));
            continue;
        };
        let refused = said.is_error && said.contract["error"]["code"] == code;
        let given = said.blocks[0].clone();
        let then = example(&said).map(|(tool, arguments)| Said::from(server.call(&tool, arguments)));
        let why = match then {
            _ if !refused => Some(format!("not {code}: {given}")),
            None => Some(format!("no example: {given}")),
            Some(then) => wrong(&root, &then, &want["then"]).map(|why| format!("{why} after {given}")),
        };
        examples.extend(why.map(|why| format!("{name}: {why}")));
    }
    let right = count - failures.len() - examples.len();
    println!("{right} of {count} first calls are right");
    println!("{}", failures.join("\n"));
    assert_eq!(examples, [""; 0], "every error has an example that gives what was wanted");
    assert!(right * 100 >= count * RIGHT, "{right} of {count}:\n{}", failures.join("\n"));
}
