//! Host states: brings machines to what state files describe.

mod roots;

pub use roots::FolderRoots;
