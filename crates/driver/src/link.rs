//! Code that is put together from several images (`cuLink`).

use crate::error::Error;
use crate::image::{Image, LoadFailure, log};
use cubin::elf::Elf;
use cubin::fatbin::{self, Kind};
use cubin::read::Program;
use link::{Input, Problem};
use machine::Profile;
use ptx::ast::{self, FunctionDirectiveKind, FunctionKind, Spanned};
use ptx::diagnostic::Severity;
use ptx::source::Source;
use std::fmt::Write;

/// Functions of NVIDIA's device runtime that programs name without having them; others are the machine's own.
const DEVICE_RUNTIME: &str = include_str!("device_runtime.ptx");

/// Whether it is a part of NVIDIA's `libcudadevrt`, in place of which the machine and [`DEVICE_RUNTIME`] stand: its code
/// defines functions that the machine provides.
fn is_device_runtime(image: &Image) -> bool {
    let Image::Fatbin(bytes) = image else { return false };
    let entries = fatbin::entries(bytes).unwrap_or_default();
    let Some(code) = entries.iter().find(|entry| entry.kind == Kind::Elf) else { return false };
    let elf = code.bytes().ok().and_then(|bytes| Elf::parse(&bytes).ok());
    elf.is_some_and(|elf| Program::new(&elf).functions().iter().any(|f| machine::provides(&f.name)))
}

/// What nothing is linked to.
const NOTHING: &str = ".version 6.3\n.target sm_70\n.address_size 64\n";

/// Images on their way to be one.
#[derive(Debug, Default)]
pub struct Link {
    inputs: Vec<Input>,
    remarks: String,
    /// Whether anything was to be linked.
    asked: bool,
}

impl Link {
    /// Adds an image, which messages call by `name`.
    ///
    /// # Errors
    /// If it holds no PTX for the device, or PTX that is wrong.
    pub fn add(&mut self, image: &Image, name: &str, profile: &Profile) -> Result<(), LoadFailure> {
        self.asked = true;
        if is_device_runtime(image) {
            return Ok(());
        }
        for text in image.modules(profile)? {
            let name =
                if name.is_empty() { format!("input {}", self.inputs.len() + 1) } else { name.to_owned() };
            let source = Source::new(name, text);
            let input = Input::new(&source)
                .map_err(|found| LoadFailure::new(Error::InvalidPtx, log(&source, &found)))?;
            self.inputs.push(input);
        }
        Ok(())
    }

    /// Adds the device code of a host object, or of all objects of an archive. Those without PTX for the device add
    /// nothing: what is missing then shows in the end.
    ///
    /// # Errors
    /// If it is neither, or if PTX in it is wrong.
    pub fn add_object(&mut self, bytes: &[u8], name: &str, profile: &Profile) -> Result<(), LoadFailure> {
        self.asked = true;
        let invalid = |error: cubin::object::Error| LoadFailure::new(Error::InvalidImage, error.to_string());
        for member in cubin::object::members(bytes).map_err(invalid)? {
            for fatbin in member.fatbins {
                let image = Image::Fatbin(fatbin.to_vec());
                let called = format!("{name}({})", member.name);
                if is_device_runtime(&image) {
                    continue;
                }
                if let Err(failure) = image.modules(profile) {
                    // Writing to a string cannot fail.
                    let _ = writeln!(self.remarks, "{called} is left out: {}", failure.log);
                    continue;
                }
                self.add(&image, &called, profile)?;
            }
        }
        Ok(())
    }

    /// What is suspicious in the images, and what was left out.
    pub fn warnings(&self) -> String {
        let warnings = self.inputs.iter().map(|input| log(input.source(), input.warnings()));
        self.remarks.clone() + &warnings.collect::<String>()
    }

    /// The text of the whole, which [`crate::module::Module::load`] takes.
    ///
    /// # Errors
    /// If symbols are missing, or contradict one another.
    pub fn complete(&mut self) -> Result<String, LoadFailure> {
        if self.inputs.is_empty() && self.asked {
            let log = format!("{}nothing to link", self.remarks);
            return Err(LoadFailure::new(Error::InvalidImage, log));
        }
        if self.inputs.is_empty() {
            return Ok(NOTHING.to_owned());
        }
        self.provide_runtime();
        let text = link::link(&self.inputs, &machine::provides).map_err(|problems| {
            let lines: String = problems.iter().map(|problem| self.lines(problem)).collect();
            LoadFailure::new(Error::InvalidPtx, lines)
        })?;
        // A version or target that all have together may forbid what one had alone.
        let source = Source::new("linked PTX", text);
        match ptx::compile(&source).into_result() {
            Ok(_) => Ok(source.text().to_owned()),
            Err(found) => Err(LoadFailure::new(Error::InvalidPtx, log(&source, &found))),
        }
    }

    /// Adds the device runtime if an image wants something of it.
    fn provide_runtime(&mut self) {
        let Ok(runtime) = Input::new(&Source::new("device runtime", DEVICE_RUNTIME)) else { return };
        if self.inputs.iter().any(|input| input.wants_of(&runtime)) {
            self.inputs.push(runtime);
        }
    }

    /// A problem and its places, a line each.
    fn lines(&self, problem: &Problem) -> String {
        let mut text = format!("error {}: {}\n", problem.code, problem.message);
        for place in &problem.places {
            let source = self.inputs[place.input].source();
            let (line, column) = source.line_column(place.span.start);
            // Writing to a string cannot fail.
            let _ = writeln!(text, "  {}, line {line}, column {column}: {}", source.name(), place.label);
        }
        text
    }
}

impl Image {
    /// The same code, whose kernels have at most `most` registers, unless they say a number themselves.
    ///
    /// # Errors
    /// If it holds no PTX for the device.
    pub fn limit_registers(&self, most: u32, profile: &Profile) -> Result<Self, LoadFailure> {
        let source = Source::new("ptx", self.text(profile)?);
        let parsed = ptx::syntax::parse(&source);
        if parsed.diagnostics.iter().any(|found| found.severity == Severity::Error) {
            // Whoever loads it says what is wrong.
            return Ok(Self::Ptx(source.text().to_owned()));
        }
        let mut tree = parsed.module;
        for function in tree.functions.iter_mut().filter(|f| f.kind.value == FunctionKind::Entry) {
            let says = |d: &ast::FunctionDirective| matches!(d.value, FunctionDirectiveKind::MaxNreg(_));
            if !function.directives.iter().any(says) {
                let number = Spanned::new(u64::from(most), function.name.span);
                let directive = FunctionDirectiveKind::MaxNreg(number);
                function.directives.push(Spanned::new(directive, function.name.span));
            }
        }
        Ok(Self::Ptx(ptx::print::print(&tree)))
    }

    /// The PTX that suits a device, as one module.
    pub(crate) fn text(&self, profile: &Profile) -> Result<String, LoadFailure> {
        let mut modules = self.modules(profile)?;
        if modules.len() == 1 {
            return Ok(modules.remove(0));
        }
        let mut link = Link::default();
        for module in modules {
            link.add(&Self::Ptx(module), "", profile)?;
        }
        link.complete()
    }
}
