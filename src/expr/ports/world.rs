//! All that expressions see of this machine.

use super::clock::Clock;
use super::effects::Effects;
use super::env::Env;
use super::random::Random;
use super::read_files::ReadFiles;
use super::yaml::Yaml;

/// This machine, as expressions see it: each type that implements the parts implements the whole.
pub trait World: ReadFiles + Env + Clock + Random + Yaml + Effects + Send + Sync {}

impl<T: ReadFiles + Env + Clock + Random + Yaml + Effects + Send + Sync + ?Sized> World for T {}
