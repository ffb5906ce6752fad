//! Opens files that others may have put there: only regular ones, and without waiting for anybody.

use std::fs::{File, FileType, Metadata, OpenOptions};
use std::io;
use std::path::Path;

/// Opens a file to read it.
pub fn open(path: &Path) -> io::Result<File> {
    open_as(path, OpenOptions::new().read(true))
}

/// Opens a file to read and write it, unless its name is a link.
pub fn open_own(path: &Path) -> io::Result<File> {
    check(&path.symlink_metadata()?)?;
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    #[cfg(unix)]
    return opened(path, &mut options, libc::O_NONBLOCK | libc::O_NOFOLLOW);
    #[cfg(not(unix))]
    opened(path, &mut options)
}

/// Opens a file so.
pub fn open_as(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    check(&path.metadata()?)?;
    #[cfg(unix)]
    return opened(path, options, libc::O_NONBLOCK);
    #[cfg(not(unix))]
    opened(path, options)
}

// The path may name another file by now: so open it without waiting, and check its type again.
#[cfg(unix)]
fn opened(path: &Path, options: &mut OpenOptions, flags: i32) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let file = options.custom_flags(flags).open(path)?;
    check(&file.metadata()?)?;
    Ok(file)
}

#[cfg(not(unix))]
fn opened(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    let file = options.open(path)?;
    check(&file.metadata()?)?;
    Ok(file)
}

fn check(file: &Metadata) -> io::Result<()> {
    match kind(file.file_type()) {
        None => Ok(()),
        Some(what) => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("it is {what}, not a file"),
        )),
    }
}

/// What it is, if it is no file.
fn kind(kind: FileType) -> Option<&'static str> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        let special = [
            (kind.is_fifo(), "a named pipe"),
            (kind.is_socket(), "a socket"),
            (kind.is_char_device() || kind.is_block_device(), "a device"),
        ];
        if let Some((_, what)) = special.iter().find(|(is, _)| *is) {
            return Some(what);
        }
    }
    match () {
        () if kind.is_dir() => Some("a folder"),
        () if kind.is_symlink() => Some("a symbolic link"),
        () => None,
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_file_is_named_and_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::write(at("file"), "x").unwrap();
        std::os::unix::fs::symlink("file", at("link")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
        let made = std::process::Command::new("mkfifo")
            .arg(at("pipe"))
            .status();
        assert!(made.unwrap().success());
        let told = |file: io::Result<File>| file.map(drop).map_err(|e| e.to_string());
        assert_eq!(told(open(&at("link"))), Ok(()));
        assert_eq!(told(open_own(&at("file"))), Ok(()));
        for (path, what) in [
            (at("pipe"), "a named pipe"),
            (at("socket"), "a socket"),
            ("/dev/null".into(), "a device"),
            (dir.path().to_owned(), "a folder"),
        ] {
            let wanted = Err(format!("it is {what}, not a file"));
            assert_eq!(told(open(&path)), wanted);
            assert_eq!(told(open_own(&path)), wanted);
        }
        let link = "it is a symbolic link, not a file".to_owned();
        assert_eq!(told(open_own(&at("link"))), Err(link));
    }
}
