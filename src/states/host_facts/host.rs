//! Named facts about the host as a whole: operating system, names, times, settings of the kernel and of Git.

use super::named_fact::{FactArguments, NamedFact, line, lines, number_or_text, printed, shell};
use crate::host::fact::{CommandSetting, Domain, Fact, FactReading, Probe};
use crate::states::probe_sections::assignments;
use crate::value::{Map, Value};

const OS_RELEASE: &str = "cat /etc/os-release || cat /usr/lib/os-release";

pub(super) static FACTS: &[NamedFact] = &[
    NamedFact::new("server.User", |_| shell("id -un", Domain::Fixed))
        .about("the user that runs the commands"),
    NamedFact::new("server.Path", |_| {
        shell("printf '%s\\n' \"$PATH\"", Domain::Fixed)
    })
    .about("the search path for programs (PATH)"),
    NamedFact::new("server.TmpDir", |_| {
        shell("printf '%s\\n' \"${TMPDIR:-/tmp}\"", Domain::Fixed)
    })
    .about("the folder for temporary files"),
    NamedFact::new("server.Hostname", |_| shell("uname -n", Domain::All)).about("the host name"),
    NamedFact::new("server.Kernel", |_| shell("uname -s", Domain::Fixed))
        .about("the name of the kernel"),
    NamedFact::new("server.KernelVersion", |_| shell("uname -r", Domain::Fixed))
        .about("the version of the kernel"),
    NamedFact::new("server.Os", |_| shell("uname -s", Domain::Fixed))
        .about("the name of the operating system"),
    NamedFact::new("server.OsVersion", |_| shell("uname -r", Domain::Fixed))
        .about("the release of the operating system"),
    NamedFact::new("server.Arch", |_| shell("uname -m", Domain::Fixed))
        .about("the processor architecture"),
    NamedFact::new("server.Date", |_| {
        shell("date '+%Y-%m-%dT%H:%M:%S%z'", Domain::All)
    })
    .about("the current date and time"),
    NamedFact::new("server.Timezone", |_| {
        let text = "cat /etc/timezone 2>/dev/null || { _z=$(readlink -f /etc/localtime) && \
                    printf '%s\\n' \"${_z#*/zoneinfo/}\"; }";
        shell(text, Domain::Path("/etc".to_owned()))
    })
    .about("the time zone"),
    NamedFact::new("server.Home", |words| {
        let text = match words.get("user") {
            "" => "printf '%s\\n' \"$HOME\"".to_owned(),
            _ => format!("getent passwd {} | cut -d: -f6", words.quoted("user")),
        };
        shell(text, Domain::Accounts)
    })
    .about("the home folder of a user")
    .arguments(&[("user", Some(""))]),
    NamedFact::new("server.Which", |words| {
        let text = format!("command -v {} || :", words.quoted("command"));
        shell(text, Domain::All)
    })
    .about("the path of a program; null if it is not found")
    .arguments(&[("command", None)]),
    NamedFact::new("server.Command", |words| {
        shell(words.get("command"), Domain::All)
    })
    .about("the output of a command that changes nothing")
    .arguments(&[("command", None)])
    .parse_with(lines),
    NamedFact::new("server.Uptime", |_| shell("cat /proc/uptime", Domain::All))
        .about("the uptime in seconds")
        .parse_with(|_, reading| {
            let text = printed(reading).unwrap_or_default();
            let seconds = text.split('.').next().and_then(|it| it.parse::<i64>().ok());
            seconds.into()
        }),
    NamedFact::new("server.LoadAverage", |_| {
        shell("cat /proc/loadavg", Domain::All)
    })
    .about("the load averages of the last 1, 5 and 15 minutes")
    .parse_with(|_, reading| {
        let text = printed(reading).unwrap_or_default();
        let numbers = text
            .split_whitespace()
            .filter_map(|it| it.parse::<f64>().ok());
        Value::map(["1", "5", "15"].into_iter().zip(numbers.map(Value::from)))
    }),
    NamedFact::new("server.OsRelease", |_| shell(OS_RELEASE, Domain::Fixed))
        .about("the fields of `os-release`")
        .parse_with(|_, reading| {
            let text = printed(reading).unwrap_or_default();
            let entry = |(name, value): (&str, String)| (name.to_lowercase(), value.into());
            Value::map(assignments(&text).map(entry))
        }),
    NamedFact::new("server.LinuxDistribution", |_| {
        shell(OS_RELEASE, Domain::Fixed)
    })
    .about("the distribution: its name, version and fields of `os-release`")
    .parse_with(distribution),
    NamedFact::new("server.LinuxName", |_| shell(OS_RELEASE, Domain::Fixed))
        .about("the name of the distribution")
        .parse_with(|words, reading| {
            let all = distribution(words, reading);
            all.get("name").cloned().unwrap_or_default()
        }),
    NamedFact::new("server.LsbRelease", |_| {
        shell("lsb_release -ca 2>/dev/null", Domain::Fixed)
    })
    .about("the fields of `lsb_release`")
    .parse_with(|_, reading| {
        let text = printed(reading).unwrap_or_default();
        let keys = [
            ("Distributor ID", "id"),
            ("Description", "description"),
            ("Release", "release"),
            ("Codename", "codename"),
        ];
        let entry = |line: &str| {
            let (name, value) = line.split_once(':')?;
            let key = keys.iter().find(|(it, _)| *it == name.trim())?.1;
            Some((key, Value::from(value.trim())))
        };
        Value::map(text.lines().filter_map(entry))
    }),
    NamedFact::new("server.Sysctl", |words| {
        let keys: Vec<String> = words
            .get("keys")
            .split([',', ' '])
            .filter(|it| !it.is_empty())
            .map(crate::text::shlex_quote)
            .collect();
        let keys = if keys.is_empty() {
            "-a".to_owned()
        } else {
            keys.join(" ")
        };
        let text = format!("PATH=$PATH:/usr/sbin:/sbin; sysctl {keys} 2>/dev/null");
        shell(text, Domain::All)
    })
    .about("kernel parameters (sysctl)")
    .arguments(&[("keys", Some(""))])
    .parse_with(sysctl),
    NamedFact::new("server.RebootRequired", |_| {
        let text = "[ -e /var/run/reboot-required ] && echo yes || echo no";
        shell(text, Domain::All)
    })
    .about("whether installed updates require a restart")
    .parse_with(|_, reading| (printed(reading).as_deref().map(str::trim) == Some("yes")).into()),
    NamedFact::new("server.Selinux", |_| {
        let text = "PATH=$PATH:/usr/sbin; getenforce 2>/dev/null || :";
        shell(text, Domain::All)
    })
    .about("the mode of SELinux")
    .parse_with(|words, reading| {
        let mode = line(words, reading);
        let mode = mode.as_str().map(str::to_lowercase);
        Value::map([("mode", mode.into())])
    }),
    NamedFact::new("git.GitBranch", |words| {
        git(words.get("repo"), "git rev-parse --abbrev-ref HEAD")
    })
    .about("the current branch of a Git repository")
    .arguments(&[("repo", None)]),
    NamedFact::new("git.GitConfig", |words| match words.get("repo") {
        "" => shell("git config --global -z -l 2>/dev/null || :", Domain::All),
        repo => git(repo, "git config --local -z -l"),
    })
    .about("the Git settings of a repository or of the user")
    .arguments(&[("repo", Some(""))])
    .parse_with(git_config),
];

fn git(repo: &str, text: &str) -> Fact {
    Fact::Probe(Box::new(Probe {
        text: format!("{text} 2>/dev/null"),
        setting: CommandSetting {
            cwd: Some(repo.to_owned()),
            ..CommandSetting::default()
        },
        reads: Domain::Path(repo.to_owned()),
    }))
}

fn git_config(_: &FactArguments, reading: &FactReading) -> Value {
    let text = printed(reading).unwrap_or_default();
    let mut all: indexmap::IndexMap<String, Vec<Value>> = indexmap::IndexMap::new();
    for item in text.split('\0').filter(|it| !it.is_empty()) {
        let (name, value) = item.split_once('\n').unwrap_or((item, ""));
        all.entry(name.to_owned()).or_default().push(value.into());
    }
    Value::map(all.into_iter().map(|(name, values)| (name, values.into())))
}

fn sysctl(_: &FactArguments, reading: &FactReading) -> Value {
    let text = printed(reading).unwrap_or_default();
    let entry = |line: &str| {
        let (name, value) = line.split_once('=')?;
        let words: Vec<&str> = value.split_whitespace().collect();
        let numbers = words.iter().all(|word| word.parse::<i64>().is_ok());
        let value = match words.as_slice() {
            [one] => number_or_text(one),
            [_, ..] if numbers => Value::list(words.iter().map(|word| number_or_text(word))),
            _ => value.trim().into(),
        };
        Some((name.trim().to_owned(), value))
    };
    Value::map(text.lines().filter_map(entry))
}

/// Parses the distribution from `os-release`. The name is the first word of `NAME`, except for RHEL, Oracle
/// Linux and openSUSE, which are recognized by `ID`.
fn distribution(_: &FactArguments, reading: &FactReading) -> Value {
    let text = printed(reading).unwrap_or_default();
    let meta: Map = assignments(&text)
        .map(|(name, value)| (name.into(), value.into()))
        .collect();
    let find = |name: &str| meta.get(name).and_then(Value::as_str).unwrap_or_default();
    let name = find("NAME");
    let short = match find("ID") {
        "rhel" => "RedHat",
        "ol" => "Oracle",
        "opensuse-leap" | "opensuse-tumbleweed" => name,
        _ => name.split_whitespace().next().unwrap_or_default(),
    };
    let mut parts = find("VERSION_ID").split('.');
    let mut part = || parts.next().and_then(|it| it.parse::<i64>().ok());
    Value::map([
        ("name", short.into()),
        ("major", part().into()),
        ("minor", part().into()),
        ("release_meta", meta.clone().into()),
    ])
}
