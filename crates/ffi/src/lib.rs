//! What every function of a C library does around its work.
//!
//! No panic passes, a trace shows the call ([`journal`]) and what it wrote ([`outputs`]), and what the program passes by pointers is [typed, and
//! compared with null](pointers) before it is used. If the checks want it, [errors](failures) that the program takes no notice of are
//! told, with [where](host) they were. The libraries `libcuda`, `libcudart` and `libnvml` are made of [`define!`], [`unsupported!`]
//! and the functions that [`pointers!`] gives them.

pub mod failures;
pub mod host;
pub mod journal;
pub mod outputs;
pub mod pointers;

#[doc(hidden)]
pub use log;

use outputs::{Notes, Written};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Writes the arguments of a call, each with what the call wrote behind it.
pub type Arguments<'a> = dyn Fn(&Written) -> String + 'a;

/// An argument for a trace.
pub fn argument(name: &str, value: &dyn fmt::Debug, written: &Written) -> String {
    let value = format!("{value:?}");
    match written.behind(&value) {
        Some(behind) => format!("{name}={value} -> {behind}"),
        None => format!("{name}={value}"),
    }
}

/// Runs a function's work; `inside` is the error that stands for a panic, `success` and `shown` what is traced.
pub fn call<E>(
    name: &str,
    arguments: &Arguments<'_>,
    work: impl FnOnce() -> Result<(), E>,
    inside: E,
    success: &str,
    shown: impl Fn(&E) -> String,
) -> Result<(), E> {
    failures::called(name);
    let notes = journal::calls_are_logged().then(Notes::begin);
    let result = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        log::error!("{name} failed inside; please report it");
        Err(inside)
    });
    if let Err(error) = &result {
        failures::failed(name, || shown(error));
    }
    if let Some(notes) = notes {
        let answer = result.as_ref().err().map_or_else(|| success.to_owned(), shown);
        let arguments = arguments(&notes.end());
        log::trace!(target: journal::API, "{name}({arguments}) = {answer}");
    }
    result
}

/// Functions of an API; their bodies return a result without a value, and are safe: what a signature calls `*const T` and `*mut T`
/// is an [`In<T>`](pointers::In) and an [`Out<T>`](pointers::Out) to the body. `$call` is the crate's own form of [`call`], which
/// returns the number that the function returns.
#[macro_export]
macro_rules! define {
    ($call:path; $(fn $name:ident($($args:tt)*) $body:block)*) => {
        $($crate::function! { $call; $name; [] [$($args)*] $body })*
    };
}

/// One of [`define!`]: takes argument after argument, to see how each is passed.
#[doc(hidden)]
#[macro_export]
macro_rules! function {
    (
        $call:path; $name:ident; [$($done:tt)*]
        [#[elements($($count:tt)+)] $arg:ident: *mut $ty:ty $(, $($rest:tt)*)?] $body:block
    ) => {
        $crate::function! { $call; $name; [$($done)* ($arg: *mut $ty, Room $($count)+)] [$($($rest)*)?] $body }
    };
    (
        $call:path; $name:ident; [$($done:tt)*]
        [#[elements($($count:tt)+)] $arg:ident: *const $ty:ty $(, $($rest:tt)*)?] $body:block
    ) => {
        $crate::function! { $call; $name; [$($done)* ($arg: *const $ty, Array $($count)+)] [$($($rest)*)?] $body }
    };
    ($call:path; $name:ident; [$($done:tt)*] [$arg:ident: *mut $ty:ty $(, $($rest:tt)*)?] $body:block) => {
        $crate::function! { $call; $name; [$($done)* ($arg: *mut $ty, Out)] [$($($rest)*)?] $body }
    };
    ($call:path; $name:ident; [$($done:tt)*] [$arg:ident: *const $ty:ty $(, $($rest:tt)*)?] $body:block) => {
        $crate::function! { $call; $name; [$($done)* ($arg: *const $ty, In)] [$($($rest)*)?] $body }
    };
    ($call:path; $name:ident; [$($done:tt)*] [$arg:ident: $ty:ty $(, $($rest:tt)*)?] $body:block) => {
        $crate::function! { $call; $name; [$($done)* ($arg: $ty, Value)] [$($($rest)*)?] $body }
    };
    ($call:path; $name:ident; [$(($arg:ident: $ty:ty, $($how:tt)+))*] [] $body:block) => {
        #[unsafe(no_mangle)]
        #[allow(non_snake_case)]
        pub(crate) unsafe extern "C" fn $name($($arg: $ty),*) -> u32 {
            let arguments = |_written: &$crate::outputs::Written| {
                let shown: &[String] = &[$($crate::argument(stringify!($arg), &$arg, _written)),*];
                shown.join(", ")
            };
            // Arrays last: their number may be behind a pointer.
            $(let $arg = $crate::admit!($arg $($how)+);)*
            $(
                #[allow(unused_variables)]
                let $arg = $crate::admit_array!($arg $($how)+);
            )*
            $call(stringify!($name), &arguments, || $body)
        }
    };
}

/// An argument as the body of a function has it, arrays aside.
#[doc(hidden)]
#[macro_export]
macro_rules! admit {
    ($arg:ident In) => {
        // SAFETY: whoever calls a function of CUDA's promises what its manual asks of the pointers: that they are null, or that what
        // the signature says is there.
        unsafe { $crate::pointers::In::new($arg) }
    };
    ($arg:ident Out) => {
        // SAFETY: as above.
        unsafe { $crate::pointers::Out::new($arg) }
    };
    ($arg:ident $($how:tt)+) => {
        $arg
    };
}

/// The same for arrays, when everything else is as the body has it.
#[doc(hidden)]
#[macro_export]
macro_rules! admit_array {
    ($arg:ident Array $($count:tt)+) => {
        // SAFETY: as above, and that there are as many as the signature says.
        unsafe { $crate::pointers::Array::new($arg, $crate::pointers::Count::count($($count)+)) }
    };
    ($arg:ident Room $($count:tt)+) => {
        // SAFETY: as above.
        unsafe { $crate::pointers::Room::new($arg, $crate::pointers::Count::count($($count)+)) }
    };
    ($arg:ident $how:ident) => {
        $arg
    };
}

/// A function that is not implemented: it returns `$number` and says so, once. It takes no arguments: in C's calling
/// convention those it gets do no harm.
#[macro_export]
macro_rules! unsupported {
    ($name:ident, $number:expr) => {
        #[unsafe(no_mangle)]
        #[allow(non_snake_case)]
        pub(crate) extern "C" fn $name() -> u32 {
            static SAID: std::sync::Once = std::sync::Once::new();
            let _ = $crate::journal::calls_are_logged();
            SAID.call_once(|| $crate::log::warn!(concat!(stringify!($name), " is not supported")));
            $number
        }
    };
}
