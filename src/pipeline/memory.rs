//! How the process gets memory from the system: in large pieces, and none of it goes back before the end. Elsewhere
//! than on Linux with glibc, all this does nothing.

/// Most that a thread is given at once.
pub(crate) const MOST_ROOM: usize = 16 << 20;

/// What one part of a job frees, the next one takes: glibc would give much of it back to the system in between, and
/// get it again page by page, which took a tenth of the page faults of a weave. To be called before all else.
pub fn keep_freed() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        /// The highest that glibc takes (`DEFAULT_MMAP_THRESHOLD_MAX`).
        const MAPPED_BY_THEMSELVES: i32 = 32 << 20;
        // SAFETY: a value that is refused changes nothing.
        unsafe {
            libc::mallopt(libc::M_TRIM_THRESHOLD, i32::MAX);
            libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED_BY_THEMSELVES);
        }
    }
}

/// Tells that the calling thread, which has just begun, may take about so many bytes: its heap can grow by them without
/// asking again, and where huge pages are to be had, one fault gets 2 MiB and not 4 KiB. Page by page, getting memory
/// took an eighth of a weave's time. The first 2 MiB are never a huge page, since the thread has used some of them: so
/// what needs little takes no more than it did, and what needs more at most twice that.
pub(crate) fn make_room(bytes: usize) {
    let _ = bytes;
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        const PAGE: usize = 4096;
        // SAFETY: the block is asked for and given back here, and nothing is read or written; advice that is refused
        // changes nothing, and the range lies within the block.
        unsafe {
            let block = libc::malloc(bytes);
            let start = (block as usize).next_multiple_of(PAGE);
            let end = (block as usize + bytes) / PAGE * PAGE;
            if !block.is_null() && start < end {
                let start = block.wrapping_byte_add(start - block as usize);
                libc::madvise(start, end - start as usize, libc::MADV_HUGEPAGE);
            }
            libc::free(block);
        }
    }
}
