//! Tests in herd's C dialect, with the scopes of CUDA or OpenCL.
//!
//! ```text
//! C MP
//! { [x] = 0; [y] = 0; }
//! P0 (atomic_int* x, atomic_int* y) {
//!   *x = 1;
//!   atomic_store_explicit(y, 1, memory_order_release, memory_scope_device);
//! }
//! P1 (atomic_int* x, atomic_int* y) {
//!   int r0 = atomic_load_explicit(y, memory_order_acquire, memory_scope_device);
//!   if (r0 == 1) { int r1 = *x; }
//! }
//! scopes: (device (block P0) (block P1))
//! exists (1:r0=1 /\ 1:r1=0)
//! ```
//!
//! Without a tree each thread is a block of its own, on one device; without a scope an operation has that of the system.

use crate::event::{Bytes, Order, Placement, Proxy, Scope};
use crate::program::{
    Access, Arithmetic, Comparison, Condition, Instruction, Location, Operand, Program, Quantifier, Term,
    Thread, Update,
};
use crate::text::{self, Names, Problem, Token, Tokens};

/// The bytes of a location.
const WIDTH: u32 = 8;
/// How deep statements and scopes may nest.
const MAX_DEPTH: usize = 50;
/// The most threads, and locations.
const MAX_NAMES: usize = 64;

/// Reads a test.
///
/// # Errors
/// If it is not one; the problem says where.
pub fn parse(source: &str) -> Result<Program, Problem> {
    let mut tokens = Tokens::new(source, 0)?;
    if !tokens.eat_word("C") {
        return Err(tokens.unexpected("`C` and the name of the test"));
    }
    let mut name = String::new();
    // A name may have `+` and `-`; quoted text is left out.
    while tokens.peek() != Token::Symbol("{") {
        match tokens.take() {
            Token::Word(word) => name.push_str(word),
            Token::Number(number) => name.push_str(&number.to_string()),
            Token::Symbol(symbol) => name.push_str(symbol),
            Token::End => return Err(tokens.unexpected("`{`")),
        }
    }
    let mut reader = Reader { threads: Vec::new(), locations: Vec::new(), objects: Vec::new() };
    reader.memory(&mut tokens)?;
    while let Token::Word(word) = tokens.peek() {
        if !word.strip_prefix('P').is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_digit())) {
            break;
        }
        tokens.take();
        reader.thread(&mut tokens, word)?;
    }
    if tokens.eat_word("scopes") || tokens.eat_word("scopeTree") {
        tokens.eat(":");
        let mut next = Placement::default();
        reader.scopes(&mut tokens, &mut next, 0)?;
    }
    let start = tokens.offset();
    let quantifier =
        text::quantifier(&mut tokens).ok_or_else(|| tokens.unexpected("`exists`, `~exists` or `forall`"))?;
    let condition = text::condition(&mut tokens, &mut reader)?;
    if tokens.peek() != Token::End {
        return Err(tokens.unexpected("the end"));
    }
    let assertion = source.get(start..).unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
    Ok(reader.program(name, quantifier, condition, assertion))
}

struct Reader {
    threads: Vec<Thread>,
    locations: Vec<Location>,
    objects: Vec<Vec<u8>>,
}

impl Names for Reader {
    fn register(&mut self, thread: &str, register: &str) -> Option<Term> {
        let thread = self.threads.iter().position(|known| known.name == thread)?;
        let register = self.threads[thread].registers.iter().position(|known| known == register)?;
        Some(Term::Register(thread, register))
    }

    fn location(&mut self, name: &str) -> Option<Term> {
        self.locations.iter().position(|location| location.name == name).map(Term::Memory)
    }
}

impl Reader {
    fn program(
        self,
        name: String,
        quantifier: Quantifier,
        condition: Condition,
        assertion: String,
    ) -> Program {
        let Self { threads, locations, objects } = self;
        Program { name, threads, locations, objects, filter: None, quantifier, condition, assertion }
    }

    /// `{ [x] = 0; int y = 1; *z = 2; w; }`
    fn memory(&mut self, tokens: &mut Tokens) -> Result<(), Problem> {
        tokens.need("{")?;
        while !tokens.eat("}") {
            if tokens.eat(";") {
                continue;
            }
            let bracketed = tokens.eat("[") || tokens.eat("*");
            let mut name = tokens.word("a location")?;
            // A type before the name.
            while let Token::Word(next) = tokens.peek() {
                tokens.take();
                name = next;
            }
            if bracketed {
                tokens.eat("]");
            }
            let value = if tokens.eat("=") { tokens.number("a number")? } else { 0 };
            let at = self.named(tokens, name)?;
            self.objects[at] = value.to_le_bytes().to_vec();
        }
        Ok(())
    }

    /// The place of a location among all.
    fn named(&mut self, tokens: &Tokens, name: &str) -> Result<usize, Problem> {
        if let Some(known) = self.locations.iter().position(|location| location.name == name) {
            return Ok(known);
        }
        if self.locations.len() >= MAX_NAMES {
            return Err(tokens.problem("there are too many locations".into()));
        }
        let object = self.objects.len() as u32;
        let bytes = Bytes { object, address: object, start: 0, len: WIDTH };
        self.locations.push(Location { name: name.to_owned(), bytes });
        self.objects.push(vec![0; WIDTH as usize]);
        Ok(self.locations.len() - 1)
    }

    fn thread(&mut self, tokens: &mut Tokens, name: &str) -> Result<(), Problem> {
        if self.threads.len() >= MAX_NAMES || self.threads.iter().any(|thread| thread.name == name) {
            return Err(tokens.rejected(format!("too many threads, or {name} twice")));
        }
        tokens.need("(")?;
        // The parameters name locations: the statements do so again.
        while !tokens.eat(")") {
            if tokens.take() == Token::End {
                return Err(tokens.unexpected("`)`"));
            }
        }
        let cta = self.threads.len() as u32;
        let placement = Placement { cta, cluster: cta, gpu: 0 };
        self.threads.push(Thread { name: name.to_owned(), placement, ..Thread::default() });
        self.block(tokens, 0)
    }

    /// The thread that is being read.
    fn last(&mut self) -> &mut Thread {
        let last = self.threads.len() - 1;
        &mut self.threads[last]
    }

    fn emit(&mut self, instruction: Instruction, text: &str) -> usize {
        let thread = self.last();
        thread.code.push(instruction);
        thread.texts.push(text.to_owned());
        thread.code.len() - 1
    }

    fn register(&mut self, name: &str) -> usize {
        let thread = self.last();
        if let Some(known) = thread.registers.iter().position(|known| known == name) {
            return known;
        }
        thread.registers.push(name.to_owned());
        thread.initial.push(0);
        thread.registers.len() - 1
    }

    fn block(&mut self, tokens: &mut Tokens, depth: usize) -> Result<(), Problem> {
        if depth > MAX_DEPTH {
            return Err(tokens.problem("statements nest too deeply".into()));
        }
        tokens.need("{")?;
        while !tokens.eat("}") {
            self.statement(tokens, depth)?;
        }
        Ok(())
    }

    fn statement(&mut self, tokens: &mut Tokens, depth: usize) -> Result<(), Problem> {
        if tokens.eat(";") {
            return Ok(());
        }
        if tokens.eat_word("if") {
            let branch = self.unless(tokens)?;
            self.block(tokens, depth + 1)?;
            if tokens.eat_word("else") {
                let jump = self.emit(Instruction::Jump(0), "else");
                self.land(branch);
                self.block(tokens, depth + 1)?;
                self.land(jump);
            } else {
                self.land(branch);
            }
            return Ok(());
        }
        if tokens.eat_word("while") {
            let head = self.last().code.len();
            let branch = self.unless(tokens)?;
            self.block(tokens, depth + 1)?;
            self.emit(Instruction::Jump(head), "while");
            self.land(branch);
            return Ok(());
        }
        if tokens.eat("*") {
            let location = self.location_of(tokens)?;
            tokens.need("=")?;
            let value = self.expression(tokens)?;
            tokens.need(";")?;
            let access = Access { bytes: location, proxy: Proxy::Generic, order: Order::Weak, scope: None };
            self.emit(Instruction::Store { values: vec![value], access }, "*x = value");
            return Ok(());
        }
        let word = tokens.word("a statement")?;
        if word.starts_with("atomic_") && tokens.peek() == Token::Symbol("(") {
            self.call(tokens, word, None)?;
            return tokens.need(";");
        }
        // A declaration has a type before the name.
        let name = match tokens.peek() {
            Token::Word(name) => {
                tokens.take();
                name
            }
            _ => word,
        };
        tokens.need("=")?;
        let destination = self.register(name);
        self.value(tokens, destination)?;
        tokens.need(";")
    }

    /// `( a == b )`: a branch for when that does not hold.
    fn unless(&mut self, tokens: &mut Tokens) -> Result<usize, Problem> {
        tokens.need("(")?;
        let a = self.expression(tokens)?;
        let (comparison, b) = match tokens.comparison() {
            Some(comparison) => (comparison, self.expression(tokens)?),
            None => (Comparison::Ne, Operand::Constant(0)),
        };
        tokens.need(")")?;
        Ok(self.emit(Instruction::Branch { comparison: comparison.negated(), a, b, target: 0 }, "if"))
    }

    /// Lets a branch go to what comes next.
    fn land(&mut self, branch: usize) {
        let thread = self.last();
        let end = thread.code.len();
        if let Instruction::Branch { target, .. } | Instruction::Jump(target) = &mut thread.code[branch] {
            *target = end;
        }
    }

    fn location_of(&mut self, tokens: &mut Tokens) -> Result<Bytes, Problem> {
        tokens.eat("&");
        let name = tokens.word("a location")?;
        let known = self.locations.iter().position(|location| location.name == name);
        let at = match known {
            Some(at) => at,
            None if self.last().registers.iter().any(|register| register == name) => {
                return Err(tokens.rejected(format!("`{name}` is a register, not a location")));
            }
            None => self.named(tokens, name)?,
        };
        Ok(self.locations[at].bytes)
    }

    /// A number or a register, with arithmetic on them; what accesses memory goes to a register of its own.
    fn expression(&mut self, tokens: &mut Tokens) -> Result<Operand, Problem> {
        let mut left = self.operand(tokens)?;
        let symbols = [
            ("+", Arithmetic::Add),
            ("-", Arithmetic::Sub),
            ("*", Arithmetic::Mul),
            ("&", Arithmetic::And),
            ("^", Arithmetic::Xor),
        ];
        while let Some((_, operation)) = symbols.iter().find(|(symbol, _)| tokens.eat(symbol)) {
            let right = self.operand(tokens)?;
            let destination = self.fresh();
            let operation = *operation;
            self.emit(Instruction::Set { destination, operation, a: left, b: right }, "arithmetic");
            left = Operand::Register(destination);
        }
        Ok(left)
    }

    fn fresh(&mut self) -> usize {
        let name = format!("_{}", self.last().registers.len());
        self.register(&name)
    }

    fn operand(&mut self, tokens: &mut Tokens) -> Result<Operand, Problem> {
        match tokens.peek() {
            Token::Number(_) | Token::Symbol("-") => Ok(Operand::Constant(tokens.number("a number")?)),
            Token::Symbol("*") => {
                let destination = self.fresh();
                self.value(tokens, destination)?;
                Ok(Operand::Register(destination))
            }
            Token::Word(word) if word.starts_with("atomic_") => {
                let destination = self.fresh();
                tokens.take();
                self.call(tokens, word, Some(destination))?;
                Ok(Operand::Register(destination))
            }
            Token::Word(word) if self.last().registers.iter().any(|known| known == word) => {
                tokens.take();
                Ok(Operand::Register(self.register(word)))
            }
            _ => Err(tokens.unexpected("a number or a register that has a value")),
        }
    }

    /// What goes to a register.
    fn value(&mut self, tokens: &mut Tokens, destination: usize) -> Result<(), Problem> {
        match tokens.peek() {
            Token::Symbol("*") => {
                tokens.take();
                let bytes = self.location_of(tokens)?;
                let access = Access { bytes, proxy: Proxy::Generic, order: Order::Weak, scope: None };
                self.emit(Instruction::Load { destinations: vec![destination], access }, "*x");
            }
            Token::Word(word) if word.starts_with("atomic_") => {
                tokens.take();
                self.call(tokens, word, Some(destination))?;
            }
            _ => {
                let (operation, b) = (Arithmetic::Second, self.expression(tokens)?);
                let a = Operand::Constant(0);
                self.emit(Instruction::Set { destination, operation, a, b }, "assignment");
            }
        }
        Ok(())
    }

    /// A call of a function of `<atomic>`, behind its name.
    fn call(&mut self, tokens: &mut Tokens, name: &str, destination: Option<usize>) -> Result<(), Problem> {
        let (base, explicit) = match name.strip_suffix("_explicit") {
            Some(base) => (base, true),
            None => (name, false),
        };
        let unknown = |tokens: &Tokens| tokens.rejected(format!("`{name}` is not understood"));
        tokens.need("(")?;
        if base == "atomic_thread_fence" {
            let (order, scope) = order_and_scope(tokens, true)?;
            if let Some(scope) = scope
                && !matches!(order, Order::Weak | Order::Relaxed)
            {
                self.emit(Instruction::Fence { order, scope }, name);
            }
            return Ok(());
        }
        let bytes = self.location_of(tokens)?;
        let update = match base.strip_prefix("atomic_").unwrap_or_default() {
            "load" | "store" => None,
            "exchange" => Some(Arithmetic::Second),
            "fetch_add" => Some(Arithmetic::Add),
            "fetch_sub" => Some(Arithmetic::Sub),
            "fetch_and" => Some(Arithmetic::And),
            "fetch_or" => Some(Arithmetic::Or),
            "fetch_xor" => Some(Arithmetic::Xor),
            _ => return Err(unknown(tokens)),
        };
        let mut value = Operand::Constant(0);
        if base != "atomic_load" {
            tokens.need(",")?;
            value = self.expression(tokens)?;
        }
        if explicit {
            tokens.need(",")?;
        }
        let (order, scope) = order_and_scope(tokens, explicit)?;
        let access = Access { bytes, proxy: Proxy::Generic, order, scope };
        let legal = match (base, order) {
            ("atomic_load", order) => !matches!(order, Order::Release | Order::AcqRel),
            ("atomic_store", order) => !matches!(order, Order::Acquire | Order::AcqRel),
            _ => true,
        };
        if !legal {
            return Err(tokens.rejected(format!("`{base}` cannot be {}", order.name())));
        }
        let instruction = match (update, base) {
            (Some(operation), _) => {
                Instruction::Atomic { destination, update: Update::Combine(operation, value), access }
            }
            (None, "atomic_store") => Instruction::Store { values: vec![value], access },
            (None, _) => {
                let destination = destination.unwrap_or_else(|| self.fresh());
                Instruction::Load { destinations: vec![destination], access }
            }
        };
        self.emit(instruction, name);
        Ok(())
    }

    /// `(device (block P0 P1) (block P2))`
    fn scopes(&mut self, tokens: &mut Tokens, next: &mut Placement, depth: usize) -> Result<(), Problem> {
        if depth > MAX_DEPTH {
            return Err(tokens.problem("scopes nest too deeply".into()));
        }
        tokens.need("(")?;
        let mut level = None;
        loop {
            match tokens.peek() {
                Token::Symbol("(") => self.scopes(tokens, next, depth + 1)?,
                Token::Symbol(")") => {
                    tokens.take();
                    break;
                }
                Token::Word(word) => {
                    tokens.take();
                    if let Some(thread) = self.threads.iter_mut().find(|thread| thread.name == word) {
                        thread.placement = *next;
                        continue;
                    }
                    level = Some(match word {
                        "system" | "all_svm_devices" => Level::System,
                        "device" | "gpu" => Level::Device,
                        "cluster" => Level::Cluster,
                        "block" | "cta" | "work_group" => Level::Block,
                        "sub_group" | "warp" | "work_item" | "thread" => Level::Below,
                        _ => return Err(tokens.rejected(format!("`{word}` is no scope and no thread"))),
                    });
                }
                Token::Number(_) | Token::Symbol(_) | Token::End => {
                    return Err(tokens.unexpected("a scope, a thread or `)`"));
                }
            }
        }
        // What comes next is in another one.
        match level {
            Some(Level::Device) => {
                *next = Placement { gpu: next.gpu + 1, cluster: next.cluster + 1, cta: next.cta + 1 }
            }
            Some(Level::Cluster) => {
                *next = Placement { cluster: next.cluster + 1, cta: next.cta + 1, ..*next }
            }
            Some(Level::Block) => next.cta += 1,
            Some(Level::System | Level::Below) | None => {}
        }
        Ok(())
    }
}

enum Level {
    System,
    Device,
    Cluster,
    Block,
    Below,
}

/// `memory_order_acquire, memory_scope_device)`; without an order it is sequentially consistent.
fn order_and_scope(tokens: &mut Tokens, explicit: bool) -> Result<(Order, Option<Scope>), Problem> {
    let mut order = Order::Sc;
    let mut scope = Scope::Sys;
    if explicit {
        let word = tokens.word("a memory order")?;
        order = match word.strip_prefix("memory_order_").unwrap_or(word) {
            "relaxed" => Order::Relaxed,
            "acquire" | "consume" => Order::Acquire,
            "release" => Order::Release,
            "acq_rel" => Order::AcqRel,
            "seq_cst" => Order::Sc,
            _ => return Err(tokens.rejected(format!("`{word}` is not a memory order"))),
        };
        if tokens.eat(",") {
            let word = tokens.word("a scope")?;
            let name = word.strip_prefix("memory_scope_").or_else(|| word.strip_prefix("thread_scope_"));
            scope = match name.unwrap_or(word) {
                "block" | "work_group" => Scope::Cta,
                "cluster" => Scope::Cluster,
                "device" => Scope::Gpu,
                "system" | "all_svm_devices" => Scope::Sys,
                _ => return Err(tokens.rejected(format!("`{word}` is not a scope"))),
            };
        }
    }
    tokens.need(")")?;
    Ok((order, Some(scope)))
}
