//! The registry of named facts: one table per module, and the lookup by name.

use super::named_fact::{FactQueryError, NamedFact};
use super::{accounts, files, hardware, host, packages, system};
use crate::text::did_you_mean;

/// Every named fact, grouped by module.
pub fn all() -> impl Iterator<Item = &'static NamedFact> {
    let tables = [
        files::FACTS,
        hardware::FACTS,
        host::FACTS,
        packages::FACTS,
        accounts::FACTS,
        system::FACTS,
    ];
    tables.into_iter().flatten()
}

/// Finds a fact by its name, with or without the module and in any case: `server.LinuxName`, `linux_name`.
///
/// Fails with a suggestion if no fact matches.
pub fn find(name: &str) -> Result<&'static NamedFact, FactQueryError> {
    let plain = |text: &str| text.replace('_', "").to_lowercase();
    let normalized = plain(name);
    let last = |it: &NamedFact| it.name.rsplit('.').next().map(plain).unwrap_or_default();
    let found = all().find(|it| plain(it.name) == normalized || last(it) == normalized);
    found.ok_or_else(|| {
        let short = all().map(|it| it.name.rsplit('.').next().unwrap_or(it.name));
        let hint = if name.contains('.') {
            did_you_mean(name, all().map(|it| it.name))
        } else {
            did_you_mean(name, short)
        };
        FactQueryError::Unknown {
            name: name.to_owned(),
            hint,
        }
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::host::fact::{FactReading, ProbeOutput};

    fn answer(name: &str, words: &[(&str, &str)], printed: &str) -> String {
        let words = words
            .iter()
            .map(|(key, word)| ((*key).to_owned(), (*word).to_owned()));
        let query = find(name).unwrap().query_with(words.collect()).unwrap();
        let reading = FactReading::Probe(ProbeOutput {
            stdout: printed.replace("@@", "\u{1}").into_bytes(),
            ..ProbeOutput::default()
        });
        query.parse_reading(&reading).unwrap().to_string()
    }

    #[test]
    fn a_fact_is_found_by_any_of_its_names() {
        for name in ["server.Users", "users", "Users", "SERVER.USERS"] {
            assert_eq!(find(name).unwrap().name, "server.Users");
        }
        assert_eq!(find("linux_name").unwrap().name, "server.LinuxName");
        let error = find("server.Usrs").unwrap_err();
        insta::assert_debug_snapshot!(error, @r#"
        Unknown {
            name: "server.Usrs",
            hint: Some(
                "did you mean `server.Users`?",
            ),
        }
        "#);
    }

    #[test]
    fn arguments_are_checked() {
        let fact = find("files.File").unwrap();
        let missing = fact.query_with(BTreeMap::new()).unwrap_err();
        insta::assert_snapshot!(missing, @r#"the fact `files.File` needs the argument `path`"#);
        let given = [("pth".to_owned(), "/".to_owned())].into();
        insta::assert_debug_snapshot!(fact.query_with(given).unwrap_err(), @r#"
        UnknownArgument {
            fact: "files.File",
            argument: "pth",
            hint: Some(
                "did you mean `path`?",
            ),
        }
        "#);
    }

    #[test]
    fn fact_names_are_unique() {
        let mut names: Vec<&str> = all().map(|it| it.name).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        assert!(count >= 40, "{count}");
    }

    #[test]
    #[expect(clippy::too_many_lines, reason = "it is a table")]
    fn what_is_printed_is_read_as_pyinfra_reads_it() {
        let all = [
            answer(
                "server.Users",
                &[],
                "@@passwd\nroot:x:0:0:root:/root:/bin/bash\nbob:x:1000:100:Bob,,,:/home/bob:/bin/sh\n\
                 @@group\nroot:x:0:\nusers:x:100:\nsudo:x:27:bob\n",
            ),
            answer(
                "server.Mounts",
                &[],
                "/dev/vda / ext4 rw,relatime 0 0\nnone /a\\040b tmpfs rw 0 0\n",
            ),
            answer("hardware.Memory", &[], "MemTotal:       24682416 kB\n"),
            answer(
                "deb.DebPackages",
                &[],
                "apt\t2.6.1\tinstalled\nbash\t5.2\tinstalled\nold\t1\tconfig-files\n",
            ),
            answer(
                "systemd.SystemdStatus",
                &[],
                "ssh.service loaded active running x\ncron.service loaded failed failed y\n",
            ),
            answer(
                "systemd.SystemdEnabled",
                &[],
                "ssh.service enabled enabled\ncron.service disabled enabled\n",
            ),
            answer(
                "apt.AptSources",
                &[],
                "@@list\ndeb [arch=amd64 signed-by=/k] http://x/debian sid main contrib\n# deb http://no no\n\
                 @@sources\nTypes: deb deb-src\nURIs: http://y\nSuites: a b\nComponents: main\n",
            ),
            answer(
                "crontab.Crontab",
                &[],
                "# Puppet Name: x\nA=1\n*/5 * * * * run it\n@daily other\n",
            ),
            answer(
                "git.GitConfig",
                &[],
                "user.name\nBob\nline\u{0}core.x\ny\u{0}",
            ),
            answer("server.Sysctl", &[], "a.b = 1\nc.d = 1\t2\ne.f = x\n"),
            answer(
                "server.LinuxName",
                &[],
                "NAME=\"Debian GNU/Linux\"\nID=debian\nVERSION_ID=\"12\"\n",
            ),
            answer("server.LoadAverage", &[], "8.02 8.12 6.20 1/2 3\n"),
        ];
        insta::assert_snapshot!(all.join("\n"), @r#"
        {'root': {'home': '/root', 'comment': 'root', 'shell': '/bin/bash', 'group': 'root', 'groups': [], 'uid': 0, 'gid': 0}, 'bob': {'home': '/home/bob', 'comment': 'Bob,,,', 'shell': '/bin/sh', 'group': 'users', 'groups': ['sudo'], 'uid': 1000, 'gid': 100}}
        {'/': {'device': '/dev/vda', 'type': 'ext4', 'options': ['rw', 'relatime']}, '/a b': {'device': 'none', 'type': 'tmpfs', 'options': ['rw']}}
        24104
        {'apt': ['2.6.1'], 'bash': ['5.2']}
        {'ssh.service': True, 'cron.service': False}
        {'ssh.service': True, 'cron.service': False}
        [{'type': 'deb', 'url': 'http://x/debian', 'distribution': 'sid', 'components': ['main', 'contrib'], 'options': {'arch': 'amd64', 'signed-by': '/k'}}, {'type': 'deb', 'url': 'http://y', 'distribution': 'a', 'components': ['main'], 'options': {}}, {'type': 'deb', 'url': 'http://y', 'distribution': 'b', 'components': ['main'], 'options': {}}, {'type': 'deb-src', 'url': 'http://y', 'distribution': 'a', 'components': ['main'], 'options': {}}, {'type': 'deb-src', 'url': 'http://y', 'distribution': 'b', 'components': ['main'], 'options': {}}]
        [{'env': 'A=1'}, {'command': 'run it', 'minute': '*/5', 'hour': '*', 'day_of_month': '*', 'month': '*', 'day_of_week': '*', 'comments': ['# Puppet Name: x']}, {'command': 'other', 'special_time': '@daily', 'comments': []}]
        {'user.name': ['Bob\nline'], 'core.x': ['y']}
        {'a.b': 1, 'c.d': [1, 2], 'e.f': 'x'}
        Debian
        {'1': 8.02, '5': 8.12, '15': 6.2}
        "#);
    }
}
