//! Sources of each language, with the expected kind of each place of `load` or `Store`.

use super::*;
use crate::{Language, Parsers};

/// `line:kinds` of every line that has the name.
fn of(language: Language, name: &str, text: &str) -> String {
    let mut places = Vec::new();
    for (line, start) in (1..).zip(std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1))) {
        let end = text[start..].find('\n').map_or(text.len(), |end| start + end);
        places.extend(
            text[start..end].match_indices(name).map(|(at, _)| Place { line, at: start + at..start + at + name.len() }),
        );
    }
    let sought = Sought { places: &places, is_name: &|other| other == name };
    let kinds = Parsers::default().uses(language, text, &sought, &|| false).unwrap().unwrap();
    let said = places.iter().zip(kinds).map(|(place, kind)| format!("{}:{}", place.line, kind.as_str()));
    said.collect::<Vec<_>>().join(" ")
}

#[test]
fn rust() {
    let text = "use a::load;\n/// load\nfn load() {}\nfn f() { load(); self.load(); a::load::<u8>(1); }\nlet x = map(load);\nlet s = \"load\"; // load\nassert_eq!(load(1), x.load);\nload!(1);\nfn load_more() { load.x; }\nimpl A { fn load(&self) {} }\n";
    assert_eq!(
        of(Language::Rust, "load", text),
        "1:import 2:text 3:definition 4:call 4:call 4:call 5:use 6:text 6:text 7:call 7:use 8:call 9:text 9:use 10:definition"
    );
    let text = "pub struct Store { a: u8 }\nimpl Store { fn new() -> Store { Store { a: 1 } } }\nfn f(s: &Store) -> Vec<Store> { Store::new() }\nimpl Trait for Store {}\nlet [x] = [0; Store];\n";
    assert_eq!(of(Language::Rust, "Store", text), "1:definition 2:type 2:type 2:type 3:type 3:type 3:use 4:type 5:use");
}

#[test]
fn python() {
    let text = "from a import load\nimport load\n\ndef load(x):\n    \"\"\"load\"\"\"\n    return load(x) + a.load(1)\n\nprint(f\"{load(1)} load\", load=load)\n# load\n";
    assert_eq!(
        of(Language::Python, "load", text),
        "1:import 2:import 4:definition 5:text 6:call 6:call 8:call 8:text 8:use 8:use 9:text"
    );
    let text = "class Store:\n    pass\nclass B(Store):\n    x: Store = Store()\n    def f(self, s: a.Store) -> list[Store]: ...\nisinstance(x, Store)\n";
    assert_eq!(of(Language::Python, "Store", text), "1:definition 3:type 4:type 4:call 5:type 5:type 6:use");
}

#[test]
fn typescript() {
    let text = "import { load } from './load';\nexport function load(): void {}\nload(); this.load(); a.b.load<T>(1); run(load);\nconst t = `load ${load(1)}`;\nconst o = { load: 1, load }; // load\n$load();\n";
    assert_eq!(
        of(Language::TypeScript, "load", text),
        "1:import 1:import 2:definition 3:call 3:call 3:call 3:use 4:text 4:call 5:definition 5:definition 5:text 6:text"
    );
    let text = "class Store {}\nconst s: Store = new Store();\nclass B extends Store implements I<Store> {}\nfunction f(a: Map<string, Store>): Store { return a as Store; }\nlet m = new Map<Store>(Store);\n";
    assert_eq!(
        of(Language::TypeScript, "Store", text),
        "1:definition 2:type 2:call 3:type 3:type 4:type 4:type 4:type 5:type 5:use"
    );
}

#[test]
fn go() {
    let text = "package a\n\nimport \"x/load\"\n\n// load\nfunc load() {}\nfunc (s *S) load() { load(); s.load(1); go run(load) }\nvar x = \"load\"\n";
    assert_eq!(
        of(Language::Go, "load", text),
        "3:import 5:text 6:definition 7:definition 7:definition 7:definition 7:definition 8:text"
    );
    let text = "package a\n\ntype Store struct {}\nfunc f(s *Store, m map[string]b.Store) []Store {\n\tx := Store{}\n\treturn run(x, b.Store)\n}\n";
    assert_eq!(of(Language::Go, "Store", text), "3:definition 4:type 4:type 4:type 5:type 6:use");
    assert_eq!(
        of(Language::Go, "load", "package a\nfunc f() {\n\tload()\n\ts.load(1)\n\tgo run(load)\n}\n"),
        "3:call 4:call 5:use"
    );
}

#[test]
fn java() {
    let text = "import a.load;\nclass A {\n  void load() {}\n  void f() { load(); this.load(1); A.load(); load.x(); run(this::load); }\n  String s = \"load\"; // load\n}\n";
    assert_eq!(
        of(Language::Java, "load", text),
        "1:import 3:definition 4:call 4:call 4:call 4:use 4:use 5:text 5:text"
    );
    let text = "class Store {}\nclass B extends Store implements I<Store> {\n  Store a = new Store();\n  List<Store> l = Store.all();\n}\n";
    assert_eq!(of(Language::Java, "Store", text), "1:definition 2:type 2:type 3:type 3:call 4:type 4:use");
}

#[test]
fn c() {
    let text = "#include \"load.h\"\n#define LOAD load(1)\nint load(int x);\nint load(int x) { return load(x) + s->load(1) + s.load; }\n/* load */ char *t = \"load\";\nvoid g(void) {\n  run(load);\n  s->load(1);\n}\n";
    assert_eq!(
        of(Language::C, "load", text),
        "1:import 2:text 3:definition 4:definition 4:definition 4:definition 4:definition 5:text 5:text 7:use 8:call"
    );
    let text = "struct Store { int a; };\nstruct Store *f(Store *s) { return (Store *)s; }\nint n = sizeof(Store);\n";
    // `sizeof` takes a variable too.
    assert_eq!(of(Language::C, "Store", text), "1:definition 2:type 2:type 2:type 3:use");
}

#[test]
fn others() {
    let cases: [(Language, &str, &str, &str); 8] = [
        (
            Language::JavaScript,
            "load",
            "new load();\nx?.load();\nclass A extends load {}\nreturn <load />;\n",
            "1:call 2:call 3:type 4:use",
        ),
        (
            Language::Cpp,
            "load",
            "a::load<int>(1);\nnew load(1);\nx->load();\nusing a::load;\n",
            "1:call 2:call 3:call 4:import",
        ),
        (
            Language::CSharp,
            "load",
            "using load;\nclass A : load { load f(load x) { x.load(); new load(); load<int>(1); } }\n",
            "1:import 2:type 2:type 2:type 2:call 2:call 2:call",
        ),
        (
            Language::Kotlin,
            "load",
            "import a.load\nval x: load = load(1)\nval y = a.load(\"load ${load()}\")\n",
            "1:import 2:type 2:call 3:call 3:text 3:call",
        ),
        (
            Language::Swift,
            "load",
            "import load\nlet x: load = load(1)\nlet y = a.load(\"load\")\n",
            "1:import 2:type 2:call 3:call 3:text",
        ),
        (
            Language::Ruby,
            "load",
            "load 'load'\nx.load(1)\n@load = 1\nload? 1\nclass A\nend\n",
            "1:call 1:text 2:call 3:use 4:text",
        ),
        (
            Language::Php,
            "load",
            "<?php\nuse a\\load;\nload(1);\n$x->load(1);\nA::load(1);\nnew load();\necho \"$load load\";\n",
            "2:import 3:call 4:call 5:call 6:call 7:use 7:text",
        ),
        (
            Language::Bash,
            "load",
            "load a\necho load\nx=$(load b)\necho \"$load load\"\n",
            "1:call 2:use 3:call 4:use 4:text",
        ),
    ];
    for (language, name, text, expected) in cases {
        assert_eq!(of(language, name, text), expected, "{language:?}");
    }
}

/// Many places, nodes that the parser made nothing of, and a text in another language.
#[test]
fn odd_texts() {
    let wide = "load(1);\n".repeat(3000);
    assert_eq!(of(Language::C, "load", &format!("void f() {{\n{wide}}}\n")).matches("call").count(), 3000);
    for language in Language::ALL.iter().filter(|language| !matches!(language, Language::Yaml)) {
        for text in ["load", "  load  ", ")load( load \"load", "\n\nload\n{load", "é load é"] {
            assert_eq!(of(*language, "load", text).split(' ').count(), text.matches("load").count(), "{language:?}");
        }
    }
}
