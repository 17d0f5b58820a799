//! Tests of values and files that are encrypted with age.

use std::path::Path;

use super::*;
use crate::system::env::Env;
use crate::value::Value;

const ID: &str = "01KTESTPROJECT";
const PATH: &str = "environments.defaults.secrets.db";

/// A folder with an identity, and the variables that name it.
struct TestProject {
    folder: tempfile::TempDir,
    policy: ReaderPolicy,
}

impl TestProject {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let key = create_identity(&folder.path().join("ann.txt")).unwrap();
        let policy = ReaderPolicy::new(folder.path(), ID, [("ann".to_owned(), key)].into());
        Self { folder, policy }
    }

    fn identities(&self, files: &str) -> Identities {
        let paths: Vec<String> = files
            .split(' ')
            .map(|file| self.folder.path().join(file).display().to_string())
            .collect();
        let variables = [("UNFURL_AGE_IDENTITIES".to_owned(), paths.join(":"))];
        Identities::find(&variables.into_iter().collect::<Env>(), None)
    }

    fn seal(&self, value: &Value) -> SealedValue {
        SealedValue::seal(value, PATH, &self.policy, &self.identities("ann.txt")).unwrap()
    }

    fn open(&self, text: &str, project: &str, path: &str) -> Result<Value, AgeError> {
        SealedValue::parse(text)?.open(ValuePlace { project, path }, &self.identities("ann.txt"))
    }
}

#[test]
fn a_value_keeps_its_type_and_opens_at_its_own_place_only() {
    let owner = TestProject::new();
    let value = Value::map([
        ("port", Value::from(80)),
        (
            "list",
            Value::list([Value::Null, Value::from(true), Value::from("ä\n")]),
        ),
    ]);
    let text = owner.seal(&value.clone().sensitive()).text();
    assert_eq!(owner.open(&text, ID, PATH).unwrap(), value);
    let error = |project, path| owner.open(&text, project, path).unwrap_err().to_string();
    insta::assert_snapshot!(error(ID, "a.b"), @"the value was encrypted as `environments.defaults.secrets.db`, and stands at `a.b`");
    insta::assert_snapshot!(error("01OTHER", PATH), @"the value belongs to the project 01KTESTPROJECT, and this is the project 01OTHER");
}

#[test]
fn each_changed_byte_of_a_value_is_refused() {
    let owner = TestProject::new();
    let text = owner.seal(&Value::from("s")).text();
    for place in 0..text.len() {
        let mut bytes = text.clone().into_bytes();
        bytes[place] = if bytes[place] == b'A' { b'B' } else { b'A' };
        let changed = String::from_utf8(bytes).unwrap();
        assert!(SealedValue::parse(&changed).is_err(), "{changed}");
    }
}

/// A digest that was computed anew does not help to move a value or to name other readers.
#[test]
fn the_encrypted_part_repeats_the_place_and_the_readers() {
    let owner = TestProject::new();
    let sealed = owner.seal(&Value::from("s"));
    let text = sealed.text();
    let forged = |from: &str, to: &str| {
        let text = text.replace(from, to);
        let digest = SealedValue::digest_of_text(&text);
        let start = text.find("digest: ").unwrap() + 8;
        format!("{}{digest}{}", &text[..start], &text[start + 64..])
    };
    let moved = forged(PATH, "a.b");
    let error = owner.open(&moved, ID, "a.b").unwrap_err();
    assert!(matches!(error, AgeError::Misplaced { .. }), "{error}");
    let elsewhere = forged(ID, "01OTHER");
    let error = owner.open(&elsewhere, "01OTHER", PATH).unwrap_err();
    assert!(matches!(error, AgeError::Misplaced { .. }), "{error}");
    let readers = forged("readers: ann", "readers: ann, bob");
    let error = owner.open(&readers, ID, PATH).unwrap_err();
    insta::assert_snapshot!(error, @"the list of readers differs from the one that was encrypted");
}

#[test]
fn only_readers_open_a_value_and_all_of_them_do() {
    let mut owner = TestProject::new();
    let bob = create_identity(&owner.folder.path().join("bob.txt")).unwrap();
    let text = owner.seal(&Value::from("s")).text();
    let sealed = SealedValue::parse(&text).unwrap();
    let place = ValuePlace {
        project: ID,
        path: PATH,
    };
    let error = sealed
        .open(place, &owner.identities("bob.txt"))
        .unwrap_err();
    insta::assert_snapshot!(error, @"none of the 1 identities opens it (readers: ann)");
    assert!(
        sealed
            .open(place, &owner.identities("bob.txt ann.txt"))
            .is_ok()
    );
    owner.policy.readers.insert("bob".to_owned(), bob);
    insta::assert_snapshot!(sealed.check_readers(&owner.policy).unwrap_err(), @"the value is encrypted to ann, and the policy names ann, bob");
    let sealed = owner.seal(&Value::from("s"));
    sealed.check_readers(&owner.policy).unwrap();
    assert!(sealed.open(place, &owner.identities("bob.txt")).is_ok());
}

#[test]
fn a_policy_keeps_its_comments_when_readers_change() {
    let owner = TestProject::new();
    let folder = owner.folder.path();
    let ann = owner.policy.readers["ann"].text().to_owned();
    let write = |text: &str| std::fs::write(folder.join(POLICY_FILE), text).unwrap();
    write(&owner.policy.to_text().unwrap());
    let loaded = ReaderPolicy::load(folder).unwrap().unwrap();
    assert_eq!(loaded.readers, owner.policy.readers);
    write(&format!(
        "# team\nid: {ID}\nreaders:\n  ann: {ann} # the boss\n"
    ));
    let mut policy = ReaderPolicy::load(folder).unwrap().unwrap();
    let bob = create_identity(&folder.join("bob.txt")).unwrap();
    policy.readers.insert("bob".to_owned(), bob);
    policy.rotate.push(RotationDebt {
        file: "unfurl.yaml".to_owned(),
        name: PATH.to_owned(),
        reader: "cy".to_owned(),
        date: "2026-11-23".to_owned(),
    });
    let text = policy.to_text().unwrap();
    assert!(text.starts_with(&format!(
        "# team\nid: {ID}\nreaders:\n  ann: {ann} # the boss\n  bob: age1"
    )));
    write(&text);
    let again = ReaderPolicy::load(folder).unwrap().unwrap();
    assert_eq!(
        (again.readers, again.rotate),
        (policy.readers, policy.rotate)
    );
    assert_eq!(
        ReaderPolicy::around(&folder.join("a/b"))
            .unwrap()
            .unwrap()
            .id,
        ID
    );
    assert_eq!(ReaderPolicy::load(Path::new("/nowhere")).unwrap(), None);
}

#[test]
fn a_wrong_policy_is_refused_with_its_reason() {
    let folder = tempfile::tempdir().unwrap();
    for (text, reason) in [
        ("[", "is not valid YAML"),
        ("id: a\nreader: {}\n", "has the unknown key `reader`"),
        ("readers: {a: b}\n", "has no `id` of letters and digits"),
        ("id: a\n", "names no reader"),
        ("id: a\nreaders: {a b: x}\n", "has the reader `a b`"),
        (
            "id: a\nreaders: {a: 1}\n",
            "has no recipient for the reader `a`",
        ),
        ("id: a\nreaders: {a: age1x}\n", "has a wrong reader `a`"),
    ] {
        std::fs::write(folder.path().join(POLICY_FILE), text).unwrap();
        let error = ReaderPolicy::load(folder.path()).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    }
}

#[test]
fn files_are_encrypted_as_age_does_and_passphrases_are_checked() {
    let owner = TestProject::new();
    let keys: Vec<AgeRecipient> = owner.policy.readers.values().cloned().collect();
    let text = encrypt_age(b"a: 1\n", &keys).unwrap();
    assert!(is_age_text(text.as_bytes()) && !is_age_text(b"a: 1\n"));
    let open = |bytes: &[u8]| decrypt_age(bytes, &owner.identities("ann.txt"), "the file");
    assert_eq!(**open(text.as_bytes()).unwrap(), *b"a: 1\n");
    let cut = &text[..text.len() / 2];
    assert!(matches!(
        open(cut.as_bytes()),
        Err(AgeError::Damaged { .. })
    ));
    assert!(matches!(
        open(b"age-encryption.org/v1\n"),
        Err(AgeError::Damaged { .. })
    ));
}

#[test]
fn identity_files_are_searched_in_order_and_readable_ones_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let env = |named: &str| {
        [
            ("HOME", root.join("home").display().to_string()),
            ("UNFURL_AGE_IDENTITIES", named.to_owned()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into_iter()
        .collect::<Env>()
    };
    let project = root.join("project");
    let find = |named: &str| Identities::find(&env(named), Some(&project));
    assert!(find("").first_recipient().unwrap().is_none());
    let of_project = create_identity(&project.join("local/age-identity.txt")).unwrap();
    assert_eq!(find("").first_recipient().unwrap().unwrap(), of_project);
    let path = identity_file_of_user(&env("")).unwrap();
    assert_eq!(path, root.join("home/.config/unfurl/age-identity.txt"));
    let of_user = create_identity(&path).unwrap();
    assert_eq!(find("").first_recipient().unwrap().unwrap(), of_user);
    assert!(find("").warnings().is_empty());
    crate::system::fs::write_plain(&path, &std::fs::read(&path).unwrap(), Some(0o644)).unwrap();
    let warnings = find("").warnings();
    assert!(
        warnings[0].contains("other users can read the identity file"),
        "{warnings:?}"
    );
    let error = find("/nowhere/x")
        .first_recipient()
        .unwrap_err()
        .to_string();
    assert!(error.contains("/nowhere/x"), "{error}");
    // A plugin is a program, so a file of the project cannot name one.
    let plugin = "AGE-PLUGIN-YUBIKEY-1QYQSSQHKMJP\n";
    std::fs::write(project.join("local/age-identity.txt"), plugin).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert!(find("").first_recipient().is_err());
}
