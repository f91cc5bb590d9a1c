//! Litmus tests in the PTX dialect of Dartagnan, extended by what newer versions of PTX have.
//!
//! A test is a title line `PTX name`, quoted comments, memory and registers in braces, a row that names the threads with
//! their places, rows of instructions, and an assertion. `docs/memory-model.md` has the grammar. All accesses are of
//! eight bytes. Extensions: `cluster` in places and scopes, `fence.acquire` and `fence.release`,
//! `bar.cluster.arrive|wait|sync`, `ld.volatile` and `st.volatile`, the proxy `async`, `cp.async TO, FROM`,
//! `cp.async.bulk TO, FROM` and `cp.async.wait`.

use crate::event::{Bytes, Order, Part, Placement, Proxy, Scope};
use crate::program::{
    Access, Arithmetic, Comparison, Condition, Instruction, Location, Operand, Program, Register, Term,
    Thread, Update,
};
use crate::text::{self, Names, Problem, Token, Tokens};
use rustc_hash::FxHashMap;

/// The bytes of an access.
const WIDTH: u32 = 8;
/// The most threads of a test.
const MAX_THREADS: usize = 64;
/// The most names of memory of a test.
const MAX_LOCATIONS: usize = 1024;

/// Reads a test.
pub fn parse(source: &str) -> Result<Program, Problem> {
    let start = first_brace(source)?;
    let title = source.split_whitespace().take(2).collect::<Vec<_>>();
    if !title.first().is_some_and(|word| word.eq_ignore_ascii_case("PTX")) {
        return Err(text::problem(source, 0, "a test begins with `PTX` and its name".into()));
    }
    let name = title.get(1).copied().unwrap_or_default();
    let mut tokens = Tokens::new(source, start)?;
    let mut reader = Reader::default();
    let registers = reader.declarations(&mut tokens)?;
    reader.threads(&mut tokens)?;
    for (thread, register, value) in registers {
        let thread =
            reader.thread(&thread).ok_or_else(|| tokens.problem(format!("there is no thread {thread}")))?;
        let register = reader.register(thread, &register);
        reader.threads[thread].initial[register] = value;
    }
    let mut columns = vec![Column::default(); reader.threads.len()];
    while !ends_program(&tokens) {
        reader.row(&mut tokens, &mut columns, source)?;
    }
    for (thread, column) in reader.threads.iter_mut().zip(columns) {
        column.finish(thread).map_err(|message| tokens.problem(message))?;
    }
    reader.assertion(&mut tokens, name, source)
}

/// The brace that ends the title: braces in quoted text do not count.
fn first_brace(source: &str) -> Result<usize, Problem> {
    let mut quoted = false;
    for (offset, c) in source.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '{' if !quoted => return Ok(offset),
            _ => {}
        }
    }
    Err(text::problem(source, source.len(), "expected `{`, found the end".into()))
}

fn ends_program(tokens: &Tokens) -> bool {
    match tokens.peek() {
        Token::Word(word) => matches!(word, "exists" | "forall" | "filter" | "locations" | "not" | "final"),
        Token::Symbol(symbol) => symbol == "~",
        Token::Number(_) => false,
        Token::End => true,
    }
}

/// The instructions of a thread while its rows are read: jumps go to labels.
#[derive(Clone, Default)]
struct Column {
    code: Vec<(Instruction, String)>,
    labels: FxHashMap<String, usize>,
    jumps: Vec<(usize, String)>,
}

impl Column {
    fn finish(self, thread: &mut Thread) -> Result<(), String> {
        (thread.code, thread.texts) = self.code.into_iter().unzip();
        for (at, label) in self.jumps {
            let place =
                *self.labels.get(&label).ok_or_else(|| format!("{} has no label {label}", thread.name))?;
            match &mut thread.code[at] {
                Instruction::Branch { target, .. } | Instruction::Jump(target) => *target = place,
                _ => {}
            }
        }
        Ok(())
    }
}

#[derive(Default)]
struct Reader {
    threads: Vec<Thread>,
    locations: Vec<Location>,
    objects: Vec<Vec<u8>>,
    addresses: u32,
}

type InitialRegisters = Vec<(String, String, i64)>;

impl Reader {
    fn declarations(&mut self, tokens: &mut Tokens) -> Result<InitialRegisters, Problem> {
        let mut registers = Vec::new();
        tokens.need("{")?;
        loop {
            while tokens.eat(";") {}
            if tokens.eat("}") {
                tokens.eat(";");
                return Ok(registers);
            }
            let thread = match (tokens.peek(), tokens.peek_behind(1)) {
                (Token::Word(name), Token::Symbol(":")) => Some(name.to_owned()),
                (Token::Number(number), Token::Symbol(":")) => Some(format!("P{number}")),
                _ => None,
            };
            if let Some(thread) = thread {
                tokens.take();
                tokens.take();
                let register = tokens.word("a register")?.to_owned();
                tokens.need("=")?;
                if matches!(tokens.peek(), Token::Word(_) | Token::Symbol("&")) {
                    return Err(tokens.problem("registers that hold addresses are not supported".into()));
                }
                registers.push((thread, register, tokens.number("a number")?));
            } else {
                self.location_declaration(tokens)?;
            }
            if !matches!(tokens.peek(), Token::Symbol(";" | "}")) {
                return Err(tokens.unexpected("`;` or `}`"));
            }
        }
    }

    fn location_declaration(&mut self, tokens: &mut Tokens) -> Result<(), Problem> {
        let name = tokens.word("a location")?;
        if self.locations.iter().any(|location| location.name == name) {
            return Err(tokens.rejected(format!("`{name}` is declared twice")));
        }
        if self.locations.len() >= MAX_LOCATIONS {
            return Err(tokens.rejected("there are too many locations".into()));
        }
        let known = |reader: &Self, tokens: &mut Tokens| {
            let name = tokens.word("a location")?;
            let found = reader.locations.iter().find(|location| location.name == name);
            found
                .map(|location| location.bytes)
                .ok_or_else(|| tokens.rejected(format!("there is no location `{name}`")))
        };
        if tokens.eat("@") {
            let proxy = proxy(tokens)?;
            if !tokens.eat_word("aliases") {
                return Err(tokens.unexpected("`aliases`"));
            }
            let aliased = known(self, tokens)?;
            // A surface of x is at x's own address; a second generic name has an address of its own.
            let address = if proxy == Proxy::Generic { self.next_address() } else { aliased.address };
            self.locations.push(Location { name: name.to_owned(), bytes: Bytes { address, ..aliased } });
            return Ok(());
        }
        tokens.need("=")?;
        tokens.eat("&");
        let initial = if let Token::Word(_) = tokens.peek() {
            let copied = known(self, tokens)?;
            self.objects[copied.object as usize].clone()
        } else {
            tokens.number("a number")?.to_le_bytes().to_vec()
        };
        self.declare(name, initial);
        Ok(())
    }

    fn next_address(&mut self) -> u32 {
        self.addresses += 1;
        self.addresses - 1
    }

    fn declare(&mut self, name: &str, initial: Vec<u8>) -> Bytes {
        let bytes =
            Bytes { object: self.objects.len() as u32, address: self.next_address(), start: 0, len: WIDTH };
        self.objects.push(initial);
        self.locations.push(Location { name: name.to_owned(), bytes });
        bytes
    }

    fn threads(&mut self, tokens: &mut Tokens) -> Result<(), Problem> {
        loop {
            let name = tokens.word("a thread, like `P0@cta 0,gpu 0`")?.to_owned();
            if self.threads.len() >= MAX_THREADS || self.thread(&name).is_some() {
                return Err(tokens.rejected(format!("too many threads, or {name} twice")));
            }
            tokens.need("@")?;
            let mut placement = Placement::default();
            loop {
                let level = tokens.word("`cta`, `cluster` or `gpu`")?;
                let number = tokens.number("a number")?;
                let number =
                    u32::try_from(number).map_err(|_| tokens.rejected(format!("{number} is no place")))?;
                match level {
                    "cta" => placement.cta = number,
                    "cluster" => placement.cluster = number,
                    "gpu" => placement.gpu = number,
                    _ => return Err(tokens.rejected(format!("`{level}` is not a level of the machine"))),
                }
                if !tokens.eat(",") {
                    break;
                }
            }
            self.threads.push(Thread { name, placement, ..Thread::default() });
            if tokens.eat(";") {
                return Ok(());
            }
            tokens.need("|")?;
        }
    }

    fn thread(&self, name: &str) -> Option<usize> {
        self.threads.iter().position(|thread| thread.name == name)
    }

    fn register(&mut self, thread: usize, name: &str) -> Register {
        let thread = &mut self.threads[thread];
        thread.registers.iter().position(|register| register == name).unwrap_or_else(|| {
            thread.registers.push(name.to_owned());
            thread.initial.push(0);
            thread.registers.len() - 1
        })
    }

    fn row(&mut self, tokens: &mut Tokens, columns: &mut [Column], source: &str) -> Result<(), Problem> {
        for thread in 0.. {
            while !matches!(tokens.peek(), Token::Symbol("|" | ";") | Token::End) {
                let Some(column) = columns.get_mut(thread) else {
                    return Err(tokens.problem("the row has more columns than there are threads".into()));
                };
                if let (Token::Word(label), Token::Symbol(":")) = (tokens.peek(), tokens.peek_behind(1)) {
                    tokens.take();
                    tokens.take();
                    if column.labels.insert(label.to_owned(), column.code.len()).is_some() {
                        return Err(tokens.problem(format!("label {label} stands twice")));
                    }
                    continue;
                }
                let start = tokens.offset();
                let instruction = self.instruction(tokens, thread, column)?;
                let text = source[start..tokens.offset()].trim_end().trim_end_matches(['|', ';']).trim_end();
                column.code.push((instruction, text.to_owned()));
            }
            if tokens.eat(";") {
                return Ok(());
            }
            if !tokens.eat("|") {
                return Err(tokens.unexpected("`|` or `;`"));
            }
        }
        Ok(())
    }

    fn instruction(
        &mut self,
        tokens: &mut Tokens,
        thread: usize,
        column: &mut Column,
    ) -> Result<Instruction, Problem> {
        let name = tokens.word("an instruction")?;
        match name {
            "ld" | "tld" | "suld" | "cold" => {
                let proxy = match name {
                    "ld" => Proxy::Generic,
                    "tld" => Proxy::Texture,
                    "suld" => Proxy::Surface,
                    _ => Proxy::Constant,
                };
                if tokens.peek() != Token::Symbol(".") {
                    let destination = self.destination(tokens, thread)?;
                    tokens.need(",")?;
                    let b = self.operand(tokens, thread)?;
                    let a = Operand::Constant(0);
                    return Ok(Instruction::Set { destination, operation: Arithmetic::Second, a, b });
                }
                let (order, scope) = order_of_access(tokens, &[Order::Relaxed, Order::Acquire])?;
                let destinations = vec![self.destination(tokens, thread)?];
                tokens.need(",")?;
                let bytes = self.location(tokens)?;
                Ok(Instruction::Load { destinations, access: Access { bytes, proxy, order, scope } })
            }
            "st" | "sust" => {
                let proxy = if name == "st" { Proxy::Generic } else { Proxy::Surface };
                let (order, scope) = order_of_access(tokens, &[Order::Relaxed, Order::Release])?;
                let bytes = self.location(tokens)?;
                tokens.need(",")?;
                let values = vec![self.operand(tokens, thread)?];
                Ok(Instruction::Store { values, access: Access { bytes, proxy, order, scope } })
            }
            "atom" | "suatom" | "red" | "sured" => self.atomic(tokens, thread, name),
            "fence" => fence(tokens),
            "bar" | "barrier" => self.barrier(tokens, thread),
            "cp" => self.copy(tokens),
            "add" | "sub" | "mul" | "div" | "and" | "or" | "xor" => {
                let operation =
                    arithmetic(name).ok_or_else(|| tokens.rejected(format!("unknown `{name}`")))?;
                let destination = self.destination(tokens, thread)?;
                tokens.need(",")?;
                let a = self.operand(tokens, thread)?;
                tokens.need(",")?;
                let b = self.operand(tokens, thread)?;
                Ok(Instruction::Set { destination, operation, a, b })
            }
            "beq" | "bne" | "blt" | "ble" | "bgt" | "bge" => {
                let comparison = match name {
                    "beq" => Comparison::Eq,
                    "bne" => Comparison::Ne,
                    "blt" => Comparison::Lt,
                    "ble" => Comparison::Le,
                    "bgt" => Comparison::Gt,
                    _ => Comparison::Ge,
                };
                let a = self.operand(tokens, thread)?;
                tokens.need(",")?;
                let b = self.operand(tokens, thread)?;
                tokens.need(",")?;
                column.jumps.push((column.code.len(), tokens.word("a label")?.to_owned()));
                Ok(Instruction::Branch { comparison, a, b, target: 0 })
            }
            "goto" => {
                column.jumps.push((column.code.len(), tokens.word("a label")?.to_owned()));
                Ok(Instruction::Jump(0))
            }
            _ => Err(tokens.rejected(format!("`{name}` is not an instruction of the dialect"))),
        }
    }

    fn atomic(&mut self, tokens: &mut Tokens, thread: usize, name: &str) -> Result<Instruction, Problem> {
        let proxy = if name.starts_with("su") { Proxy::Surface } else { Proxy::Generic };
        tokens.need(".")?;
        let order = order(tokens)?;
        if matches!(order, Order::Weak | Order::Sc) {
            return Err(tokens.rejected(format!("an atomic cannot be {}", order.name())));
        }
        tokens.need(".")?;
        let scope = Some(scope(tokens)?);
        tokens.need(".")?;
        let operation = tokens.word("an operation")?;
        let destination = if name.ends_with("red") {
            None
        } else {
            let destination = self.destination(tokens, thread)?;
            tokens.need(",")?;
            Some(destination)
        };
        let bytes = self.location(tokens)?;
        tokens.need(",")?;
        let first = self.operand(tokens, thread)?;
        let update = match operation {
            "cas" if destination.is_some() => {
                tokens.need(",")?;
                Update::CompareAndSwap { expected: first, new: self.operand(tokens, thread)? }
            }
            "exch" if destination.is_some() => Update::Combine(Arithmetic::Second, first),
            _ => match arithmetic(operation) {
                Some(operation) => Update::Combine(operation, first),
                None => return Err(tokens.rejected(format!("`{operation}` is not an operation of `{name}`"))),
            },
        };
        Ok(Instruction::Atomic { destination, update, access: Access { bytes, proxy, order, scope } })
    }

    fn barrier(&mut self, tokens: &mut Tokens, thread: usize) -> Result<Instruction, Problem> {
        tokens.need(".")?;
        let scope = match tokens.word("`cta` or `cluster`")? {
            "cta" => Scope::Cta,
            "cluster" => Scope::Cluster,
            other => return Err(tokens.rejected(format!("there is no barrier of `{other}`"))),
        };
        tokens.need(".")?;
        let part = match tokens.word("`sync`, `arrive` or `wait`")? {
            "sync" => Part::Sync,
            "arrive" => Part::Arrive,
            "wait" => Part::Wait,
            other => return Err(tokens.rejected(format!("a barrier has no `{other}`"))),
        };
        let instance = tokens.number("the barrier's instance")?;
        let instance =
            u32::try_from(instance).map_err(|_| tokens.rejected(format!("{instance} is no instance")))?;
        let resource = if tokens.eat(",") { Some(self.operand(tokens, thread)?) } else { None };
        let quorum =
            if resource.is_some() && tokens.eat(",") { Some(self.operand(tokens, thread)?) } else { None };
        Ok(Instruction::Barrier { instance, part, scope, resource, quorum })
    }

    fn copy(&mut self, tokens: &mut Tokens) -> Result<Instruction, Problem> {
        tokens.need(".")?;
        if !tokens.eat_word("async") {
            return Err(tokens.unexpected("`async`"));
        }
        let mut proxy = Proxy::Generic;
        if tokens.eat(".") {
            match tokens.word("`bulk` or `wait`")? {
                "wait" => return Ok(Instruction::WaitAsync),
                "bulk" => proxy = Proxy::Async,
                other => return Err(tokens.rejected(format!("there is no `cp.async.{other}`"))),
            }
        }
        let to = self.location(tokens)?;
        tokens.need(",")?;
        let from = self.location(tokens)?;
        Ok(Instruction::CopyAsync { to, from, proxy })
    }

    fn destination(&mut self, tokens: &mut Tokens, thread: usize) -> Result<Register, Problem> {
        match self.operand(tokens, thread)? {
            Operand::Register(register) => Ok(register),
            Operand::Constant(_) => Err(tokens.rejected("a result needs a register".into())),
        }
    }

    fn operand(&mut self, tokens: &mut Tokens, thread: usize) -> Result<Operand, Problem> {
        match tokens.peek() {
            Token::Word(word) if is_register(word) => {
                tokens.take();
                Ok(Operand::Register(self.register(thread, word)))
            }
            Token::Word(_) | Token::End => Err(tokens.unexpected("a register or a number")),
            _ => Ok(Operand::Constant(tokens.number("a register or a number")?)),
        }
    }

    /// A location, which begins with zero if it was not declared.
    fn location(&mut self, tokens: &mut Tokens) -> Result<Bytes, Problem> {
        let bracketed = tokens.eat("[");
        let name = tokens.word("a location")?;
        if is_register(name) {
            return Err(tokens.rejected("addresses in registers are not supported".into()));
        }
        if bracketed {
            tokens.need("]")?;
        }
        match self.locations.iter().find(|location| location.name == name) {
            Some(location) => Ok(location.bytes),
            None if self.locations.len() < MAX_LOCATIONS => Ok(self.declare(name, vec![0; WIDTH as usize])),
            None => Err(tokens.rejected("there are too many locations".into())),
        }
    }

    fn assertion(mut self, tokens: &mut Tokens, name: &str, source: &str) -> Result<Program, Problem> {
        if tokens.eat_word("locations") {
            tokens.need("[")?;
            while !tokens.eat("]") {
                if tokens.take() == Token::End {
                    return Err(tokens.unexpected("`]`"));
                }
            }
        }
        let filter = if tokens.eat_word("filter") {
            let filter = text::condition(tokens, &mut self)?;
            tokens.eat(";");
            Some(filter)
        } else {
            None
        };
        let start = tokens.offset();
        let quantifier = text::quantifier(tokens);
        let quantifier = quantifier.ok_or_else(|| tokens.unexpected("`exists`, `~exists` or `forall`"))?;
        let condition: Condition = text::condition(tokens, &mut self)?;
        let assertion = source[start..tokens.offset()].split_whitespace().collect::<Vec<_>>().join(" ");
        tokens.eat(";");
        if tokens.peek() != Token::End {
            return Err(tokens.unexpected("the end"));
        }
        Ok(Program {
            name: name.to_owned(),
            threads: self.threads,
            locations: self.locations,
            objects: self.objects,
            filter,
            quantifier,
            condition,
            assertion,
        })
    }
}

impl Names for Reader {
    fn register(&mut self, thread: &str, register: &str) -> Option<Term> {
        let thread = self.thread(thread)?;
        Some(Term::Register(thread, Reader::register(self, thread, register)))
    }

    fn location(&mut self, name: &str) -> Option<Term> {
        self.locations.iter().position(|location| location.name == name).map(Term::Memory)
    }
}

fn is_register(word: &str) -> bool {
    word.strip_prefix('r')
        .is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
}

fn arithmetic(name: &str) -> Option<Arithmetic> {
    Some(match name {
        "add" => Arithmetic::Add,
        "sub" => Arithmetic::Sub,
        "mul" => Arithmetic::Mul,
        "div" => Arithmetic::Div,
        "and" => Arithmetic::And,
        "or" => Arithmetic::Or,
        "xor" => Arithmetic::Xor,
        "min" => Arithmetic::Min,
        "max" => Arithmetic::Max,
        _ => return None,
    })
}

fn order(tokens: &mut Tokens) -> Result<Order, Problem> {
    let name = tokens.word("a memory order")?;
    let orders = [Order::Weak, Order::Relaxed, Order::Acquire, Order::Release, Order::AcqRel, Order::Sc];
    let found = orders.into_iter().find(|order| order.name() == name);
    found.ok_or_else(|| tokens.rejected(format!("`{name}` is not a memory order")))
}

fn scope(tokens: &mut Tokens) -> Result<Scope, Problem> {
    let name = tokens.word("a scope")?;
    let found = Scope::ALL.into_iter().find(|scope| scope.name() == name);
    found.ok_or_else(|| tokens.rejected(format!("`{name}` is not a scope")))
}

fn proxy(tokens: &mut Tokens) -> Result<Proxy, Problem> {
    let name = tokens.word("a proxy")?;
    let found = Proxy::ALL.into_iter().find(|proxy| proxy.name() == name);
    found.ok_or_else(|| tokens.rejected(format!("`{name}` is not a proxy")))
}

/// `.weak`, `.volatile` or an order with a scope.
fn order_of_access(tokens: &mut Tokens, legal: &[Order]) -> Result<(Order, Option<Scope>), Problem> {
    tokens.need(".")?;
    if tokens.eat_word("volatile") {
        return Ok((Order::Relaxed, Some(Scope::Sys)));
    }
    let order = order(tokens)?;
    if order == Order::Weak {
        return Ok((order, None));
    }
    if !legal.contains(&order) {
        return Err(tokens.rejected(format!("this access cannot be {}", order.name())));
    }
    tokens.need(".")?;
    Ok((order, Some(scope(tokens)?)))
}

fn fence(tokens: &mut Tokens) -> Result<Instruction, Problem> {
    tokens.need(".")?;
    if tokens.eat_word("proxy") {
        tokens.need(".")?;
        if tokens.eat_word("alias") {
            return Ok(Instruction::AliasFence);
        }
        return Ok(Instruction::ProxyFence(proxy(tokens)?));
    }
    let order = order(tokens)?;
    if matches!(order, Order::Weak | Order::Relaxed) {
        return Err(tokens.rejected(format!("a fence cannot be {}", order.name())));
    }
    tokens.need(".")?;
    Ok(Instruction::Fence { order, scope: scope(tokens)? })
}
