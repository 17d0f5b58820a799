//! The texts for references to entities of a topology, which are those of Unfurl.

use std::fmt::Formatter;

/// Writes a reference as Unfurl's `str()` does, such as `NodeInstance('web')`.
///
/// `outer` is the instance in whose nested topology the entity is.
pub(super) fn write_reference(
    key: &str,
    outer: Option<&str>,
    f: &mut Formatter<'_>,
) -> std::fmt::Result {
    let (class, name) = if key == "::root" {
        ("TopologyInstance", key)
    } else if key.contains("::.capabilities::") {
        ("CapabilityInstance", key)
    } else if key.contains("::.requirements::") {
        ("RelationshipInstance", key)
    } else if let Some((_, artifact)) = key.rsplit_once("::.artifacts::") {
        ("ArtifactInstance", artifact)
    } else {
        ("NodeInstance", key.strip_prefix("::").unwrap_or(key))
    };
    match outer {
        Some(outer) => write!(f, "{class}('{outer}:{name}')"),
        None => write!(f, "{class}('{name}')"),
    }
}
