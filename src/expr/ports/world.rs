//! All that expressions see of this machine.

use super::clock::Clock;
use super::effects::Effects;
use super::env::Env;
use super::random::Random;
use super::read_files::ReadFiles;
use super::yaml::Yaml;

/// The part of this machine that an evaluation sees: it reads, and changes nothing.
pub trait LocalContext: ReadFiles + Env + Clock + Random + Yaml + Send + Sync {}

impl<T: ReadFiles + Env + Clock + Random + Yaml + Send + Sync + ?Sized> LocalContext for T {}

/// This machine: each type that implements the parts implements the whole.
pub trait World: LocalContext + Effects {}

impl<T: LocalContext + Effects + ?Sized> World for T {}
