//! How tools are listed to clients, and how many tokens that costs on every turn.

use crate::client::Server;
use serde_json::{Value, json};

fn listed(words: &[&str]) -> Vec<Value> {
    let mut server = Server::start(&[], words);
    server.request("tools/list", json!({}))["result"]["tools"].as_array().unwrap().clone()
}

fn names(tools: &[Value]) -> Vec<&str> {
    tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

/// The tools that change files.
const CHANGING: [&str; 6] = ["edit", "write_file", "apply_patch", "delete_file", "move_file", "rollback"];

#[test]
fn the_default_list_is_short() {
    let tools = listed(&[]);
    assert_eq!(names(&tools), ["read", "search", "list", "outline", "edit"]);
    let tokens = tiktoken_rs::o200k_base().unwrap();
    // What hosts put before the model: name, description and schema.
    let shown: Vec<Value> = tools
        .iter()
        .map(
            |tool| json!({"name": tool["name"], "description": tool["description"], "parameters": tool["inputSchema"]}),
        )
        .collect();
    let count = tokens.encode_ordinary(&json!(shown).to_string()).len();
    let all = tokens.encode_ordinary(&json!(tools).to_string()).len();
    assert!(count <= 800 && all <= 1000, "{count} tokens before the model, {all} on the wire");
}

#[test]
fn profiles_choose_what_is_listed() {
    let bounded = ["stat_file", "search_in_file", "read_file_range", "read_file_head", "read_file_tail", "read_file"];
    assert_eq!(names(&listed(&["--tools", "bounded"])), bounded);
    assert_eq!(names(&listed(&["--tools", "all"])).len(), 27);
    let files = [
        ["list", "edit", "read_lines", "write_file", "apply_patch", "get_diff", "delete_file", "move_file"].as_slice(),
        &["list_files", "file_history", "show_version", "blame", "changes", "context", "checkpoint", "rollback"],
    ]
    .concat();
    assert_eq!(names(&listed(&["--tools", "files"])), files);
    assert_eq!(names(&listed(&["--tools", "read,get_snippet"])), ["read", "get_snippet"]);
}

#[test]
fn every_tool_says_what_hosts_need() {
    for tool in listed(&["--tools", "all"]) {
        assert!(tool["description"].as_str().is_some_and(|text| text.len() > 20), "{tool}");
        assert_eq!(tool["_meta"]["anthropic/alwaysLoad"], true);
        assert!(tool["_meta"]["anthropic/maxResultSizeChars"].as_u64().unwrap() >= 40_000);
        assert_eq!(
            (&tool["annotations"]["readOnlyHint"], &tool["annotations"]["openWorldHint"]),
            (&json!(!CHANGING.contains(&tool["name"].as_str().unwrap())), &json!(false))
        );
        assert!(tool.get("outputSchema").is_none() && tool["inputSchema"]["type"] == "object", "{tool}");
        for schema in tool["inputSchema"]["properties"].as_object().unwrap().values() {
            assert!(schema["type"].is_string() && schema.get("format").is_none(), "{schema}");
        }
    }
}
