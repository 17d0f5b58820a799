//! Reads, resolves and checks TOSCA service templates.
