//! The configurator Ansible, with the real `ansible-playbook`, on this machine and over a real `sshd`.

mod bad_input;
mod machines;
mod module;
mod playbooks;
mod processes;
mod secrets;
