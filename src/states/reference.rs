//! The reference of what state files and their templates can use: state modules, template functions, filters and
//! grains, from the tables that also implement them.

use super::modules::MODULES;
use super::render::{FILTER_NAMES, function_names};
use super::state_function::{Reverse, StateFunction, StateModule};
use crate::expr::DOCUMENT_FILTERS;
use crate::value::Value;

/// The grains of a machine with their meaning, sorted by name. Some exist only on machines that have the thing.
pub const GRAINS: &[(&str, &str)] = &[
    ("cpu_flags", "the features of the processor"),
    ("cpu_model", "the name of the processor"),
    ("cpuarch", "the architecture of the processor"),
    (
        "cwd",
        "the current folder of the shell that reads the grains",
    ),
    ("disks", "the names of the disks"),
    ("dns", "the name servers of the resolver"),
    ("domain", "the domain of the machine"),
    ("efi", "true if the machine was booted with EFI"),
    ("efi-secure-boot", "true if EFI has checked what it booted"),
    ("fqdn", "the full name of the machine"),
    ("fqdn_ip4", "the IPv4 addresses of the full name"),
    ("fqdn_ip6", "the IPv6 addresses of the full name"),
    (
        "fqdns",
        "the names of all addresses, which are looked up only if a template mentions this grain",
    ),
    ("gid", "the number of the group that reads the grains"),
    ("gpus", "the graphics cards, if the machine has `lspci`"),
    ("groupname", "the name of the group that reads the grains"),
    ("host", "the name of the machine without its domain"),
    ("hwaddr_interfaces", "the hardware addresses by device"),
    ("id", "the minion id: the name of the host"),
    ("init", "the first process, such as `systemd`"),
    ("ip4_gw", "the IPv4 gateway, or false"),
    ("ip4_interfaces", "the IPv4 addresses by device"),
    ("ip6_gw", "the IPv6 gateway, or false"),
    ("ip6_interfaces", "the IPv6 addresses by device"),
    ("ip_gw", "true if the machine has a gateway"),
    ("ip_interfaces", "all addresses by device"),
    ("ipv4", "all IPv4 addresses"),
    ("ipv6", "all IPv6 addresses"),
    ("kernel", "the name of the kernel, such as `Linux`"),
    (
        "kernelparams",
        "the parameters of the kernel's command line",
    ),
    ("kernelrelease", "the release of the kernel"),
    ("kernelversion", "the build of the kernel"),
    ("locale_info", "language, encoding and time zone"),
    ("localhost", "the name that the machine gives itself"),
    ("lsb_distrib_codename", "the code name of the distribution"),
    ("lsb_distrib_id", "the name of the distribution"),
    ("lsb_distrib_release", "the release of the distribution"),
    ("machine_id", "the id of the installation"),
    ("mem_total", "the memory in MiB"),
    ("nodename", "the name that the machine gives itself"),
    ("num_cpus", "the number of processors"),
    ("num_gpus", "the number of graphics cards"),
    ("os", "the distribution, such as `Debian`"),
    (
        "os_family",
        "the family of the distribution, such as `RedHat`",
    ),
    ("osarch", "the architecture of the packages"),
    ("oscodename", "the code name of the distribution"),
    (
        "osfinger",
        "the distribution and its major release, such as `Debian-12`",
    ),
    ("osfullname", "the full name of the distribution"),
    ("osmajorrelease", "the major release of the distribution"),
    ("osrelease", "the release of the distribution"),
    ("osrelease_info", "the parts of the release"),
    ("package", "a constant, because hosts need no Salt"),
    ("path", "the search path of commands"),
    ("ps", "the command that lists processes"),
    ("pythonversion", "a constant, because hosts need no Python"),
    (
        "saltversion",
        "the release of Salt that templates are rendered like",
    ),
    ("saltversioninfo", "the numbers of `saltversion`"),
    ("server_id", "a number made of the minion id"),
    ("shell", "the shell of the user that reads the grains"),
    ("ssds", "the names of the disks without moving parts"),
    ("swap_total", "the swap space in MiB"),
    ("systemd", "the version and the features of systemd"),
    ("systempath", "the folders of `path`"),
    (
        "transactional",
        "true if the system is updated by `transactional-update`",
    ),
    ("uid", "the number of the user that reads the grains"),
    ("username", "the name of the user that reads the grains"),
    (
        "virtual",
        "the kind of machine, such as `physical` or `container`",
    ),
    ("virtual_subtype", "the kind of container"),
];

/// Returns the names of Salt's functions that templates can call as `salt[…]`, sorted.
fn template_functions() -> Vec<&'static str> {
    let mut names: Vec<_> = function_names().collect();
    names.sort_unstable();
    names
}

/// Returns the names of Salt's filters, sorted. Templates have Jinja's own filters besides.
fn template_filters() -> Vec<&'static str> {
    let mut names = [FILTER_NAMES, &DOCUMENT_FILTERS].concat();
    names.sort_unstable();
    names
}

/// Returns the whole reference as data.
pub fn reference() -> Value {
    let grains = GRAINS
        .iter()
        .map(|(name, about)| (*name, Value::from(*about)));
    Value::map([
        ("states", describe_modules(MODULES)),
        ("functions", texts(template_functions())),
        ("filters", texts(template_filters())),
        ("grains", Value::map(grains)),
    ])
}

/// Describes the state functions of some modules as data, by name.
pub fn describe_modules(modules: &[&StateModule]) -> Value {
    Value::map(
        state_functions(modules).map(|(module, function)| {
            (function_name(module, function), describe(module, function))
        }),
    )
}

/// Returns the state functions of some modules with their modules, in the order of the tables.
pub fn state_functions<'a>(
    modules: &'a [&'a StateModule],
) -> impl Iterator<Item = (&'a StateModule, &'a StateFunction)> {
    modules.iter().flat_map(|module| {
        let functions = module.functions.iter();
        functions.map(|function| (*module, function))
    })
}

fn texts(names: impl IntoIterator<Item = &'static str>) -> Value {
    Value::list(names.into_iter().map(Value::from))
}

/// Returns the name of a state function in state files, such as `file.managed`.
pub fn function_name(module: &StateModule, function: &StateFunction) -> String {
    format!("{}.{}", module.name, function.name)
}

/// Describes a state function as data.
pub fn describe(module: &StateModule, function: &StateFunction) -> Value {
    let optional = function.optional().filter(|name| *name != "*");
    Value::map([
        ("about", function.about.into()),
        ("required", texts(function.required())),
        ("optional", texts(optional)),
        ("takes_any", function.takes_any().into()),
        ("watch", module.watch.is_some().into()),
        ("reversal", reversal(module, function).into()),
    ])
}

/// Says how the state is undone when its description is deleted.
pub fn reversal(module: &StateModule, function: &StateFunction) -> String {
    match function.reverse {
        Reverse::By(other) => format!("`{}.{other}` reverts the state", module.name),
        Reverse::NoOp => "nothing to revert".to_owned(),
        Reverse::Irreversible(reason) => format!("not reverted: {reason}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_state_function_is_described_by_one_sentence() {
        for (module, function) in state_functions(MODULES) {
            let (name, about) = (function_name(module, function), function.about);
            assert!(about.ends_with('.'), "{name}: {about:?}");
            assert!(about.starts_with(char::is_uppercase), "{name}");
        }
    }

    #[test]
    fn each_name_stands_once_and_in_order() {
        for names in [
            GRAINS.iter().map(|(name, _)| *name).collect(),
            template_functions(),
            template_filters(),
        ] {
            assert!(names.is_sorted_by(|one, next| one < next), "{names:?}");
        }
    }
}
