//! Fuzzes the TOSCA reader: each input is read as a service template that cannot import files.

#![no_main]

use std::path::Path;
use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use unfurl::testing::diagnostic::Sources;
use unfurl::testing::name::Status;
use unfurl::testing::topology::{Topology, TopologyInputs};
use unfurl::testing::tosca::{self, NoImports, ReadOptions};
use unfurl::testing::value::Map;
use unfurl::testing::yaml::{Limits, NoLoader, expand};
use unfurl_fuzz::{on_text, read, show};

fuzz_target!(|bytes: &[u8]| on_text(bytes, check));

fn check(text: &str) {
    let mut sources = Sources::default();
    let Some(root) = read(&mut sources, text) else {
        return;
    };
    let root = match expand(&root, &mut NoLoader, &Limits::default()) {
        Ok(expanded) => expanded.root,
        Err(problems) => return show(&problems, &sources),
    };
    let options = ReadOptions {
        check_unused: true,
        ..ReadOptions::default()
    };
    let (service, problems) = tosca::read(&root, Path::new("/"), &mut NoImports, &options);
    show(&problems, &sources);
    let Some(service) = service.filter(|_| !problems.has_errors()) else {
        return;
    };
    show(
        &tosca::check_inputs(&service.types, &service.topology, &Map::new(), &[]),
        &sources,
    );
    let service = Arc::new(service);
    let mut topology = Topology::new(Arc::clone(&service), TopologyInputs::default());
    let root = topology.root();
    for (name, template) in &service.topology.nodes {
        topology.add_node(
            name.as_str().into(),
            Arc::clone(template),
            root,
            Some(Status::Pending),
        );
    }
    drop(unfurl::testing::plan::refuse_cycles(&topology));
}
