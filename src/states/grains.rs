//! Grains: the properties of a machine under Salt's names, such as `os_family` or `ip4_interfaces` (S11).
//!
//! One probe script reads everything in a single round trip; [`parse`] converts its output. Called before
//! state files are compiled.

use sha2::{Digest as _, Sha256};

use super::grain_texts::{
    graphics_cards, kernel_parameters, language_and_encoding, resolver, texts,
};
use super::probe_sections::{ProbeSections, assignments, sectioned_probe};
use super::{FactCache, Halt, address_names, network};
use crate::host::fact::{Domain, Fact, Probe};
use crate::value::{Map, Value};

/// The release of Salt that `saltversion` and `test.version` name.
pub(super) const SALT_VERSION: &str = "3006.28";

/// The script that prints the raw data of all grains in sections.
///
/// The start of a program costs more than anything else here, so one program answers several questions and the shell
/// reads small files by itself.
const PROBE_SCRIPT: &str = r#"_l() { read -r _t <"$1" || [ -n "$_t" ] && printf '%s\n' "$_t"; }
_u=$(uname -snrvm)
_s kernel; printf '%s\n' "${_u%% *}"; _u=${_u#* }
_s node; _n=${_u%% *}; printf '%s\n' "$_n"; _u=${_u#* }
_s release; printf '%s\n' "${_u%% *}"; _u=${_u#* }
_s version; printf '%s\n' "${_u% *}"
_s machine; _m=${_u##* }; printf '%s\n' "$_m"
_s os; cat /etc/os-release || cat /usr/lib/os-release
_s debian; _l /etc/debian_version
_s arch; dpkg --print-architecture || apk --print-arch || printf '%s\n' "$_m"
_s cpus; nproc || grep -c '^processor' /proc/cpuinfo
_s cpu; grep -m 1 -E '^(model name|Processor|cpu model)' /proc/cpuinfo
_s flags; grep -m 1 -E '^(flags|Features)' /proc/cpuinfo
_s memory; cat /proc/meminfo
_f=$(hostname -f)
_s fqdn; printf '%s\n' "${_f:-$_n}"
_s addresses; ip -o addr
_s links; ip -o link
_s routes; ip -4 route show default
_s routes6; ip -6 route show default
_s names4; getent ahostsv4 "$_f"
_s names6; getent ahostsv6 "$_f"
_s resolver; cat /etc/resolv.conf
_s init; _l /proc/1/comm
_s booted; [ -d /run/systemd/system ] && echo yes
_s systemd; systemctl --version
_s virtual; if [ -f /.dockerenv ]; then echo docker; elif [ -f /run/.containerenv ]; then echo podman
else systemd-detect-virt || cat /sys/class/dmi/id/product_name; fi
_i=$(id); _g=${_i#* gid=}; _i=${_i#uid=}; _i=${_i%% gid=*}; _g=${_g%% groups=*}; _g=${_g%% context=*}
_s uid; printf '%s\n' "${_i%%(*}"
_s user; _i=${_i#*(}; printf '%s\n' "${_i%)}"
_s gid; printf '%s\n' "${_g%%(*}"
_s group; _g=${_g#*(}; printf '%s\n' "${_g%)}"
_s path; printf '%s\n' "$PATH"
_s shell; printf '%s\n' "${SHELL:-/bin/sh}"
_s language; printf '%s\n' "${LC_ALL:-${LC_CTYPE:-$LANG}}"
_s zone; date +%Z
_s disks; for _d in /sys/block/*; do [ -e "$_d" ] && printf '%s %s\n' "${_d##*/}" "$(_l "$_d/queue/rotational")"; done
_s parameters; _l /proc/cmdline
_s machine-id; _l /etc/machine-id
_s efi; [ -d /sys/firmware/efi ] && echo yes
_s secure-boot; for _d in /sys/firmware/efi/efivars/SecureBoot-*; do [ -f "$_d" ] && tail -c 1 "$_d" | od -An -tu1; done
_s pci; command -v lspci >/dev/null && { echo yes; lspci -vmm; }
_s transactional; command -v transactional-update
_s cwd; pwd"#;

/// The facts that [`parse`] needs: the grains probe.
pub fn required_facts() -> Vec<Fact> {
    vec![Fact::Probe(Box::new(grains_probe()))]
}

/// The facts from which [`parse`] computes a grain.
pub fn facts_for(grain: &str) -> Vec<Fact> {
    if grain == address_names::GRAIN {
        all_facts()
    } else {
        required_facts()
    }
}

/// The facts from which [`parse`] computes all grains, also those that cost a wait for other machines.
pub fn all_facts() -> Vec<Fact> {
    let mut facts = required_facts();
    facts.push(address_names::required_fact());
    facts
}

fn grains_probe() -> Probe {
    sectioned_probe(PROBE_SCRIPT, Domain::Fixed)
}

/// Computes the grains of the machine with this minion ID.
///
/// Returns [`Halt::Needs`] if the probe was not read yet, and [`Halt::Failed`] if it could not be read.
pub fn parse(facts: &FactCache, id: &str) -> Result<Value, Halt> {
    let text = String::from_utf8_lossy(&facts.probe(grains_probe())?.stdout);
    let sections = ProbeSections::of(&text);
    let mut grains = Map::new();
    grains.insert("id".into(), id.into());
    os(&sections, &mut grains);
    hardware(&sections, &mut grains);
    names(&sections, &mut grains);
    network(&sections, &mut grains);
    system(&sections, &mut grains);
    user(&sections, &mut grains);
    salt(id, &mut grains);
    if let Ok(names) = address_names::read(facts) {
        insert(&mut grains, address_names::GRAIN, names);
    }
    Ok(grains.into())
}

/// Inserts the grains about Salt. Hosts have no Salt, so they are those of the release that templates are rendered like.
fn salt(id: &str, grains: &mut Map) {
    insert(grains, "saltversion", SALT_VERSION);
    let numbers = SALT_VERSION.split('.').map(|part| number(part).into());
    insert(grains, "saltversioninfo", Value::list(numbers));
    let version = [3.into(), 11.into(), 0.into(), "final".into(), 0.into()];
    insert(grains, "pythonversion", Value::list(version));
    insert(grains, "package", "onedir");
    insert(grains, "server_id", server_id(id));
}

/// The digest of the minion ID, modulo 2³¹.
fn server_id(id: &str) -> i64 {
    let digest = Sha256::digest(id);
    let last: [u8; 4] = std::array::from_fn(|place| digest[digest.len() - 4 + place]);
    i64::from(u32::from_be_bytes(last) & 0x7fff_ffff)
}

fn insert(grains: &mut Map, name: &str, value: impl Into<Value>) {
    grains.insert(name.into(), value.into());
}

fn number(text: &str) -> i64 {
    text.trim().parse().unwrap_or_default()
}

/// The `ID` in `os-release` and Salt's `os` grain for it.
const OS_NAMES: [(&str, &str); 24] = [
    ("debian", "Debian"),
    ("ubuntu", "Ubuntu"),
    ("raspbian", "Raspbian"),
    ("linuxmint", "Mint"),
    ("kali", "Kali"),
    ("devuan", "Devuan"),
    ("pop", "Pop"),
    ("centos", "CentOS"),
    ("rhel", "RedHat"),
    ("fedora", "Fedora"),
    ("rocky", "Rocky"),
    ("almalinux", "AlmaLinux"),
    ("amzn", "Amazon"),
    ("ol", "OEL"),
    ("scientific", "ScientificLinux"),
    ("sles", "SUSE"),
    ("sled", "SUSE"),
    ("opensuse", "SUSE"),
    ("opensuse-leap", "SUSE"),
    ("opensuse-tumbleweed", "SUSE"),
    ("arch", "Arch"),
    ("alpine", "Alpine"),
    ("gentoo", "Gentoo"),
    ("photon", "VMware Photon OS"),
];

fn family(os: &str) -> &str {
    match os {
        "Debian" | "Ubuntu" | "Raspbian" | "Mint" | "Kali" | "Devuan" | "Pop" => "Debian",
        "CentOS" | "CentOS Stream" | "RedHat" | "Fedora" | "Rocky" | "AlmaLinux" | "Amazon"
        | "OEL" | "ScientificLinux" => "RedHat",
        "SUSE" => "Suse",
        other => other,
    }
}

/// The code name in parentheses, from a version such as `12 (bookworm)`.
fn in_brackets(version: &str) -> Option<&str> {
    let inside = version.split_once('(')?.1.split_once(')')?.0;
    Some(inside.split(',').next_back().unwrap_or(inside).trim())
}

fn os(sections: &ProbeSections<'_>, grains: &mut Map) {
    let kernel = sections.line("kernel");
    insert(grains, "kernel", kernel);
    insert(grains, "kernelrelease", sections.line("release"));
    insert(grains, "kernelversion", sections.line("version"));
    let all: Vec<(&str, String)> = assignments(sections.get("os")).collect();
    let find = |name: &str| {
        let found = all.iter().find(|(key, _)| *key == name);
        found.map_or("", |(_, value)| value.as_str())
    };
    let full = match find("NAME") {
        "" => kernel,
        name => name,
    };
    let short = find("ID");
    let known = OS_NAMES.iter().find(|(id, _)| *id == short);
    let os = match known.map(|(_, name)| *name) {
        Some("CentOS") if full.contains("Stream") => "CentOS Stream",
        Some(name) => name,
        None => full,
    };
    let release = match (find("VERSION_ID"), short) {
        // Unreleased versions of Debian have no `VERSION_ID`.
        ("", "debian") => sections.line("debian"),
        (release, _) => release,
    };
    let code = match find("VERSION_CODENAME") {
        "" => in_brackets(find("VERSION")).unwrap_or_default(),
        code => code,
    };
    let parts: Vec<&str> = release.split('.').filter(|it| !it.is_empty()).collect();
    let part = |text: &&str| text.parse::<i64>().map_or((*text).into(), Value::from);
    insert(grains, "os", os);
    insert(grains, "os_family", family(os));
    insert(grains, "osfullname", full);
    insert(grains, "osrelease", release);
    insert(
        grains,
        "osrelease_info",
        Value::list(parts.iter().map(part)),
    );
    insert(grains, "oscodename", code);
    insert(grains, "osarch", sections.line("arch"));
    insert(grains, "lsb_distrib_id", full);
    insert(grains, "lsb_distrib_release", release);
    insert(grains, "lsb_distrib_codename", code);
    let major = parts.first().copied().unwrap_or_default();
    if let Some(first) = parts.first() {
        insert(grains, "osmajorrelease", part(first));
    }
    let name = if ["Debian", "Raspbian"].contains(&os) {
        os
    } else {
        full
    };
    let finger = if os == "Ubuntu" { release } else { major };
    insert(grains, "osfinger", format!("{name}-{finger}"));
}

fn hardware(sections: &ProbeSections<'_>, grains: &mut Map) {
    insert(grains, "cpuarch", sections.line("machine"));
    insert(grains, "num_cpus", number(sections.line("cpus")));
    let after = |name: &str| {
        let value = sections.line(name).split_once(':');
        value.map_or("", |(_, value)| value.trim())
    };
    insert(grains, "cpu_model", after("cpu"));
    let flags = after("flags").split_whitespace();
    insert(grains, "cpu_flags", texts(flags));
    for (grain, name) in [("mem_total", "MemTotal:"), ("swap_total", "SwapTotal:")] {
        let mut lines = sections.get("memory").lines();
        let line = lines.find_map(|line| line.strip_prefix(name));
        let kibibytes = line.map_or(0, |line| number(line.trim().trim_end_matches("kB")));
        insert(grains, grain, kibibytes / 1024);
    }
    let is_real = |name: &&str| {
        !["dm-", "loop", "md", "ram", "zram"]
            .iter()
            .any(|it| name.starts_with(it))
    };
    let disks = |flag: &'static str| {
        let pairs = sections
            .get("disks")
            .lines()
            .map(|line| line.split_once(' '));
        let kind = pairs.flatten().filter(move |(_, own)| own.trim() == flag);
        texts(kind.map(|(name, _)| name).filter(is_real))
    };
    insert(grains, "disks", disks("1"));
    insert(grains, "ssds", disks("0"));
    insert(
        grains,
        "kernelparams",
        kernel_parameters(sections.line("parameters")),
    );
    firmware(sections, grains);
    let (kind, of) = match sections.line("virtual") {
        "" | "none" => ("physical", None),
        "docker" => ("container", Some("Docker")),
        "podman" => ("container", Some("Podman")),
        "lxc" | "lxc-libvirt" => ("container", Some("LXC")),
        "systemd-nspawn" => ("container", Some("systemd-nspawn")),
        "container-other" | "wsl" => ("container", None),
        "vmware" => ("VMware", None),
        "oracle" | "VirtualBox" => ("VirtualBox", None),
        "microsoft" => ("HyperV", None),
        "amazon" => ("Nitro", None),
        other => (other, None),
    };
    insert(grains, "virtual", kind);
    if let Some(of) = of {
        insert(grains, "virtual_subtype", of);
    }
}

fn firmware(sections: &ProbeSections<'_>, grains: &mut Map) {
    insert(grains, "efi", !sections.line("efi").is_empty());
    insert(
        grains,
        "efi-secure-boot",
        sections.line("secure-boot").trim() == "1",
    );
    if sections.line("pci") == "yes" {
        let gpus = graphics_cards(sections.get("pci"));
        let count = i64::try_from(gpus.len()).unwrap_or(i64::MAX);
        insert(grains, "num_gpus", count);
        insert(grains, "gpus", Value::list(gpus));
    }
}

fn names(sections: &ProbeSections<'_>, grains: &mut Map) {
    let node = sections.line("node");
    let fqdn = match sections.line("fqdn") {
        "" | "localhost" => node,
        name => name,
    };
    let (host, domain) = fqdn.split_once('.').unwrap_or((fqdn, ""));
    insert(grains, "nodename", node);
    insert(grains, "localhost", node);
    insert(grains, "fqdn", fqdn);
    insert(grains, "host", host);
    insert(grains, "domain", domain);
    for (grain, name) in [("fqdn_ip4", "names4"), ("fqdn_ip6", "names6")] {
        let lines = sections.get(name).lines();
        let mut found: Vec<&str> = Vec::new();
        for address in lines.filter_map(|line| line.split_whitespace().next()) {
            // An IPv4 address mapped to IPv6 does not count as an IPv6 address.
            if !found.contains(&address) && !address.starts_with("::ffff:") {
                found.push(address);
            }
        }
        insert(grains, grain, texts(found));
    }
}

fn network(sections: &ProbeSections<'_>, grains: &mut Map) {
    let devices = network::parse_devices(sections.get("links"), sections.get("addresses"));
    let of = |list: fn(&network::NetworkDevice) -> Vec<&str>| {
        Value::map(devices.iter().map(|it| (it.name.as_str(), texts(list(it)))))
    };
    let hardware = devices
        .iter()
        .map(|it| (it.name.as_str(), it.mac_address.as_str().into()));
    insert(grains, "hwaddr_interfaces", Value::map(hardware));
    insert(grains, "ip4_interfaces", of(|it| it.addresses_of(false)));
    insert(grains, "ip6_interfaces", of(|it| it.addresses_of(true)));
    let both = of(|it| [it.addresses_of(false), it.addresses_of(true)].concat());
    insert(grains, "ip_interfaces", both);
    let all = |is_six: bool| {
        let mut found: Vec<&str> = devices
            .iter()
            .flat_map(|it| it.addresses_of(is_six))
            .collect();
        found.sort_unstable();
        found.dedup();
        texts(found)
    };
    insert(grains, "ipv4", all(false));
    insert(grains, "ipv6", all(true));
    let gateway = |name: &str| {
        let mut words = sections.line(name).split_whitespace();
        let via = words.by_ref().any(|word| word == "via");
        words
            .next()
            .filter(|_| via)
            .map_or(false.into(), Value::from)
    };
    let (four, six) = (gateway("routes"), gateway("routes6"));
    insert(grains, "ip_gw", four.is_truthy() || six.is_truthy());
    insert(grains, "ip4_gw", four);
    insert(grains, "ip6_gw", six);
    insert(grains, "dns", resolver(sections.get("resolver")));
}

fn system(sections: &ProbeSections<'_>, grains: &mut Map) {
    let init = match (sections.line("booted"), sections.line("init")) {
        ("yes", _) | (_, "systemd") => "systemd",
        (_, "init") => "sysvinit",
        (_, "openrc-init") => "openrc-init",
        (_, "runit") => "runit",
        _ => "unknown",
    };
    insert(grains, "init", init);
    let mut lines = sections.get("systemd").lines();
    let version = lines.next().and_then(|line| line.split_whitespace().nth(1));
    if let Some(version) = version {
        let features = lines.next().unwrap_or_default().into();
        let entries = [("version", version.into()), ("features", features)];
        insert(grains, "systemd", Value::map(entries));
    }
    let (language, encoding) = language_and_encoding(sections.line("language"));
    let locale = Value::map([
        ("defaultlanguage", language.into()),
        ("defaultencoding", encoding.into()),
        ("detectedencoding", Value::from("utf-8")),
        ("timezone", sections.line("zone").into()),
    ]);
    insert(grains, "locale_info", locale);
    insert(grains, "machine_id", sections.line("machine-id"));
    let is_transactional = !sections.line("transactional").is_empty();
    insert(grains, "transactional", is_transactional);
    insert(grains, "ps", "ps -efHww");
}

fn user(sections: &ProbeSections<'_>, grains: &mut Map) {
    let path = sections.line("path");
    insert(grains, "path", path);
    insert(grains, "systempath", texts(path.split(':')));
    insert(grains, "shell", sections.line("shell"));
    insert(grains, "cwd", sections.line("cwd"));
    insert(grains, "uid", number(sections.line("uid")));
    insert(grains, "gid", number(sections.line("gid")));
    insert(grains, "username", sections.line("user"));
    insert(grains, "groupname", sections.line("group"));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::fact::{FactReading, ProbeOutput};

    fn grains_of(text: &str) -> Value {
        let mut facts = FactCache::default();
        let probed = ProbeOutput {
            stdout: text.replace("@@", "\u{1}").into_bytes(),
            ..ProbeOutput::default()
        };
        facts.learn(required_facts().remove(0), FactReading::Probe(probed));
        parse(&facts, "web1").unwrap()
    }

    fn shown(grains: &Value, names: &[&str]) -> String {
        let one = |name: &&str| {
            let value = grains.get(name).unwrap_or(&Value::Null);
            format!("{name}={value}")
        };
        names.iter().map(one).collect::<Vec<_>>().join("\n")
    }

    const NAMES: [&str; 8] = [
        "os",
        "os_family",
        "osfullname",
        "osrelease",
        "osrelease_info",
        "osmajorrelease",
        "oscodename",
        "osfinger",
    ];

    #[test]
    fn distributions_have_the_names_that_salt_gives_them() {
        let debian = grains_of(
            "@@os\nNAME=\"Debian GNU/Linux\"\nVERSION_ID=\"12\"\nVERSION_CODENAME=bookworm\nID=debian\n",
        );
        insta::assert_snapshot!(shown(&debian, &NAMES), @r#"
        os=Debian
        os_family=Debian
        osfullname=Debian GNU/Linux
        osrelease=12
        osrelease_info=[12]
        osmajorrelease=12
        oscodename=bookworm
        osfinger=Debian-12
        "#);
        let ubuntu = grains_of("@@os\nNAME=\"Ubuntu\"\nVERSION_ID=\"22.04\"\nID=ubuntu\n");
        insta::assert_snapshot!(shown(&ubuntu, &NAMES), @r#"
        os=Ubuntu
        os_family=Debian
        osfullname=Ubuntu
        osrelease=22.04
        osrelease_info=[22, 4]
        osmajorrelease=22
        oscodename=
        osfinger=Ubuntu-22.04
        "#);
        let rocky = grains_of(
            "@@os\nNAME='Rocky Linux'\nVERSION=\"9.3 (Blue Onyx)\"\nVERSION_ID=\"9.3\"\nID=rocky\n",
        );
        insta::assert_snapshot!(shown(&rocky, &NAMES), @r#"
        os=Rocky
        os_family=RedHat
        osfullname=Rocky Linux
        osrelease=9.3
        osrelease_info=[9, 3]
        osmajorrelease=9
        oscodename=Blue Onyx
        osfinger=Rocky Linux-9
        "#);
    }

    #[test]
    fn a_machine_that_says_nothing_has_grains_too() {
        let grains = grains_of("");
        assert_eq!(grains.get("id"), Some(&"web1".into()));
        assert_eq!(grains.get("num_cpus"), Some(&0.into()));
        assert_eq!(server_id("minion"), 279_719_642);
    }

    #[test]
    fn addresses_are_listed_by_device_and_all_together() {
        let grains = grains_of(
            "@@links\n1: lo: <LOOPBACK> mtu 65536 state UNKNOWN \\    link/loopback 00:00:00:00:00:00 brd 0\n\
             2: eth0@if3: <UP> mtu 1400 state UP \\    link/ether 02:fc:00:00:00:01 brd ff\n\
             @@addresses\n1: lo    inet 127.0.0.1/8 scope host lo\\       valid\n\
             2: eth0    inet 192.0.2.2/24 brd 192.0.2.255 scope global eth0\n\
             2: eth0    inet6 fe80::1/64 scope link\n\
             @@routes\ndefault via 192.0.2.1 dev eth0\n",
        );
        let names = [
            "hwaddr_interfaces",
            "ip_interfaces",
            "ipv4",
            "ipv6",
            "ip4_gw",
            "ip_gw",
        ];
        insta::assert_snapshot!(shown(&grains, &names), @r#"
        hwaddr_interfaces={'lo': '00:00:00:00:00:00', 'eth0': '02:fc:00:00:00:01'}
        ip_interfaces={'lo': ['127.0.0.1'], 'eth0': ['192.0.2.2', 'fe80::1']}
        ipv4=['127.0.0.1', '192.0.2.2']
        ipv6=['fe80::1']
        ip4_gw=192.0.2.1
        ip_gw=True
        "#);
    }
}
