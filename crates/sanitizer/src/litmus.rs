//! A race as a litmus test: the two accesses with their orders and scopes, in threads placed as theirs were. `warploom
//! litmus` judges it by the axioms, which share no code with the detector.

use crate::report::Actor;
use crate::site::{Action, Site};
use machine::fault::Access;
use memory_model::event::Order;
use std::fmt::Write as _;

/// The test, if accesses like these can be written as one: asynchronous copies cannot.
pub(crate) fn of_race(actors: &[Actor], sites: (&Site, &Site), shared: bool) -> Option<String> {
    let [later, earlier] = actors else { return None };
    let space = if shared { "shared" } else { "global" };
    let (first, second) = (instruction(sites.0, space)?, instruction(sites.1, space)?);
    let cta = u32::from(earlier.block != later.block && !shared);
    let bytes = sites.0.element.max(sites.1.element);
    let line = |actor: &Actor| actor.location.ptx.as_ref().map_or(String::new(), ToString::to_string);
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = write!(
        text,
        "//: litmus race\n\
         // {} and {}\n\
         //: thread P0 earlier cta 0, gpu 0\n\
         //: thread P1 later cta {cta}, gpu 0\n\
         //: exists (x == 1)\n\
         .version 8.0\n.target sm_90\n.address_size 64\n\n\
         .visible .{space} .align 16 .b{} x;\n",
        line(earlier),
        line(later),
        8 * bytes.min(8),
    );
    for (name, instruction) in [("earlier", first), ("later", second)] {
        let _ = write!(
            text,
            "\n.visible .entry {name}()\n{{\n\t.reg .b16 %h<3>;\n\t.reg .b32 %r<3>;\n\t.reg .b64 %d<3>;\n\t{instruction}\n\tret;\n}}\n"
        );
    }
    Some(text)
}

fn instruction(site: &Site, space: &str) -> Option<String> {
    let (register, bits) = match site.element {
        1 => ("%h0", 8),
        2 => ("%h0", 16),
        4 => ("%r0", 32),
        8 => ("%d0", 64),
        _ => return None,
    };
    let scope = site.scope.name();
    let order = match site.order {
        Order::Weak => String::new(),
        order => format!(".{}.{scope}", order.name()),
    };
    Some(match site.action {
        Action::Access(Access::Load) => format!("ld{order}.{space}.b{bits} {register}, [x];"),
        Action::Access(Access::Store) => format!("st{order}.{space}.b{bits} [x], 1;"),
        Action::Access(Access::Atomic) if bits >= 32 => {
            format!("atom{order}.{space}.exch.b{bits} {register}, [x], 1;")
        }
        Action::CompareAndSwap if bits >= 32 => {
            format!("atom{order}.{space}.cas.b{bits} {register}, [x], 0, 1;")
        }
        _ => return None,
    })
}
