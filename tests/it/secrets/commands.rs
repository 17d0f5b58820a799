//! Setting, showing, listing, editing and encrypting secrets.

use std::fs;

use super::{PROJECT, age_project, get, set, vault_project};
use crate::support::TestEnv;

fn both() -> [(TestEnv, &'static str); 2] {
    [(vault_project(), "vault"), (age_project(), "age")]
}

#[test]
fn a_secret_is_spliced_into_the_project_and_read_back() {
    for (env, scheme) in both() {
        env.write("unfurl.yaml", PROJECT);
        set(&env, "hunter2\n", &["db"]).succeeds();
        let text = env.read("unfurl.yaml");
        assert!(text.starts_with(PROJECT), "{text}");
        assert!(text.contains("    secrets:\n      db: !"), "{text}");
        assert!(!text.contains("hunter2"), "{text}");
        assert_eq!(get(&env, &["db"]), "hunter2");
        let run = set(&env, "hunter2\n", &["db"]).succeeds();
        run.prints(&["has this value already; nothing was written"]);
        assert_eq!(env.read("unfurl.yaml"), text);
        let run = env
            .unfurl(["secret", "list", "--output", "json"])
            .succeeds();
        assert_eq!(run.json()[0]["name"], "environments.defaults.secrets.db");
        assert_eq!(
            (&run.json()[0]["scheme"], &run.json()[0]["line"]),
            (&scheme.into(), &8.into())
        );
        assert!(!run.all().contains("hunter2"));
        set(&env, "other", &["db"]).succeeds();
        assert_eq!(get(&env, &["db"]), "other");
    }
}

#[test]
fn a_value_of_any_type_stands_at_a_path_of_any_file() {
    for (env, _) in both() {
        env.write("x.yaml", "# top\nlist:\n- one # first\n- {a: 1, b: two}\n");
        set(&env, "p w", &["list.1.b", "--file", "x.yaml"]).succeeds();
        set(
            &env,
            "{\"n\": [1, null, true]}",
            &["new.deep", "--json", "--file", "x.yaml"],
        )
        .succeeds();
        let text = env.read("x.yaml");
        assert!(
            text.starts_with("# top\nlist:\n- one # first\n- {a: 1, b: !"),
            "{text}"
        );
        assert_eq!(get(&env, &["list.1.b", "--file", "x.yaml"]), "p w");
        assert_eq!(
            get(&env, &["new.deep", "--file", "x.yaml"]),
            "{\"n\":[1,null,true]}"
        );
        let run = env.unfurl([
            "secret", "get", "new.deep", "--file", "x.yaml", "--output", "json",
        ]);
        assert_eq!(run.json()["value"]["n"][0], 1);
        let run = env
            .unfurl(["secret", "get", "none", "--file", "x.yaml"])
            .exits(1);
        run.says(&[
            "there is no secret `none`",
            "`unfurl secret list` shows the names",
        ]);
    }
}

#[test]
fn a_file_is_taken_byte_for_byte() {
    let env = vault_project();
    env.write("key.pem", "line\n\nend\n\n");
    env.unfurl(["secret", "set", "key", "--from", "key.pem"])
        .succeeds();
    let run = env.unfurl(["secret", "get", "key"]).succeeds();
    assert_eq!(run.stdout, "line\n\nend\n\n");
}

#[test]
fn each_marked_value_of_a_file_is_encrypted_in_place() {
    for (env, scheme) in both() {
        let text = format!(
            "a: !sensitive one # why\nb: {{c: !sensitive [1, 2]}}\nd: plain\ne: !{scheme} two\nf: !sensitive\n"
        );
        env.write("x.yaml", &text);
        let run = env.unfurl(["secret", "encrypt", "x.yaml"]).succeeds();
        run.prints(&[
            "encrypted `a`",
            "encrypted `b.c`",
            "encrypted `e`",
            "`f` has no value",
        ]);
        let text = env.read("x.yaml");
        assert!(
            text.contains("# why\n") && text.contains("\nd: plain\n"),
            "{text}"
        );
        assert!(!text.contains("one") && !text.contains("two"), "{text}");
        assert_eq!(get(&env, &["b.c", "--file", "x.yaml"]), "[1,2]");
        assert_eq!(get(&env, &["e", "--file", "x.yaml"]), "two");
        let run = env.unfurl(["secret", "encrypt", "x.yaml"]).succeeds();
        run.prints(&["`f` has no value"]);
        assert_eq!(env.read("x.yaml"), text);
    }
}

#[test]
fn an_edit_changes_a_value_and_leaves_no_file() {
    for (env, _) in both() {
        set(&env, "hunter2", &["db"]).succeeds();
        let env = env.variable("EDITOR", "sed -i s/hunter2/changed/");
        env.unfurl(["secret", "edit", "db"]).succeeds();
        assert_eq!(get(&env, &["db"]), "changed");
        let before = env.read("unfurl.yaml");
        let env = env.variable(
            "EDITOR",
            "sh -c 'stat -c %a \"$1\" > ../mode; echo \"$1\" > ../path' x",
        );
        env.unfurl(["secret", "edit", "db"])
            .succeeds()
            .prints(&["nothing was written"]);
        assert_eq!(env.read("unfurl.yaml"), before);
        assert_eq!(env.read("../mode"), "600\n");
        let path = env.read("../path");
        assert!(!fs::exists(path.trim()).unwrap(), "{path}");
    }
}

#[test]
fn without_a_key_or_a_project_the_way_to_one_is_named() {
    let env = TestEnv::new();
    set(&env, "x", &["db"])
        .exits(1)
        .says(&["is in no project", "`unfurl init`"]);
    env.write("unfurl.yaml", PROJECT);
    let run = set(&env, "x", &["db"]).exits(1);
    run.says(&["the project has no key", "`unfurl init --secrets age`"]);
    assert_eq!(env.read("unfurl.yaml"), PROJECT);
}
