//! From arguments to a launch: the parameter buffer, the buffers in device memory, and what is to be done with them.

use super::element::Element;
use super::fill::Fill;
use super::grammar::{self, Action, Argument, Expected, Tolerance, Value};
use super::npy;
use crate::failure::Failure;
use crate::kernels::declared;
use crate::terminal::count;
use machine::ParameterLayout;
use machine::memory::{Buffers, MemoryError};
use ptx::types::TypeKind;
use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// Everything that the arguments of a launch say.
#[derive(Debug)]
pub(crate) struct Binding {
    pub(crate) params: Vec<u8>,
    pub(crate) buffers: Vec<Buffer>,
}

/// A buffer in device memory.
#[derive(Debug)]
pub(crate) struct Buffer {
    /// The parameter that points to it.
    pub(crate) parameter: usize,
    pub(crate) name: String,
    pub(crate) element: Element,
    pub(crate) shape: Vec<u64>,
    pub(crate) address: u64,
    pub(crate) bytes: u64,
    contents: Contents,
    pub(crate) tasks: Vec<Task>,
}

/// What a buffer holds before the launch, or should hold after it.
#[derive(Debug)]
pub(crate) enum Contents {
    Fill(Fill),
    Bytes(Vec<u8>),
}

impl Contents {
    pub(crate) fn at(&self, element: Element, index: u64) -> u64 {
        match self {
            Self::Fill(fill) => fill.at(element, index),
            Self::Bytes(bytes) => element.get(bytes, index as usize),
        }
    }
}

/// An action whose inputs have been read.
#[derive(Debug)]
pub(crate) enum Task {
    Print { limit: Option<u64>, hex: bool },
    Output(PathBuf),
    Expect { expected: Contents, tolerance: Tolerance },
}

/// Bytes of a generated buffer that are on the host at a time.
const CHUNK: u64 = 1 << 20;

/// Reads the arguments of a kernel and places its buffers in memory.
pub(crate) fn bind(
    kernel: &str,
    parameters: &[ParameterLayout],
    arguments: &[String],
    memory: &dyn Buffers,
) -> Result<Binding, Failure> {
    if arguments.len() != parameters.len() {
        let list: Vec<_> = parameters.iter().map(|p| format!("{} ({})", p.name, declared(p))).collect();
        let takes = count(parameters.len(), "parameter");
        let failure = Failure::usage(format!(
            "kernel {kernel} takes {takes}, but there {} {}",
            if arguments.len() == 1 { "is" } else { "are" },
            count(arguments.len(), "argument")
        ));
        return Err(if list.is_empty() {
            failure
        } else {
            failure.hint(format!("one for each of {}", list.join(", ")))
        });
    }
    let size = parameters.last().map_or(0, |p| p.offset + p.size);
    let mut binding = Binding { params: vec![0; size as usize], buffers: Vec::new() };
    let mut aliases = Vec::new();
    for (index, (parameter, text)) in parameters.iter().zip(arguments).enumerate() {
        let wrong = |message: String| {
            let place = format!(
                "argument `{text}` for parameter {index}, {} ({})",
                parameter.name,
                declared(parameter)
            );
            Failure::usage(format!("{place}: {message}"))
        };
        let argument = grammar::parse(text).map_err(wrong)?;
        if let Value::Same { parameter: of, offset } = &argument.value {
            needs_pointer(parameter).and_then(|()| no_actions(&argument)).map_err(wrong)?;
            aliases.push((index, of.clone(), *offset));
            continue;
        }
        let bytes = binding.value(index, parameter, argument, memory).map_err(wrong)?;
        binding.set(parameter, &bytes);
    }
    for (index, of, offset) in aliases {
        let parameter = &parameters[index];
        let target = binding.buffers.iter().find(|b| b.name == of || b.parameter.to_string() == of);
        let target = target.filter(|buffer| offset <= buffer.bytes).ok_or_else(|| {
            Failure::usage(format!(
                "parameter {index}, {} ({}): no other parameter `{of}` has a buffer with a byte {offset}",
                parameter.name,
                declared(parameter)
            ))
        })?;
        let address = target.address + offset;
        binding.set(parameter, &address.to_le_bytes());
    }
    Ok(binding)
}

fn needs_pointer(parameter: &ParameterLayout) -> Result<(), String> {
    let pointer = parameter.size == 8 && parameter.ty.bytes() == 8 && parameter.ty.kind() != TypeKind::Float;
    if pointer { Ok(()) } else { Err("a buffer's address needs a parameter of 8 bytes, .u64 or .b64".into()) }
}

fn no_actions(argument: &Argument) -> Result<(), String> {
    match argument.actions.is_empty() {
        true => Ok(()),
        false => Err("print, out and expect need an argument that makes a buffer".into()),
    }
}

/// Writes the contents of all buffers as they are before a launch. `fresh` memory is zero already.
pub(crate) fn upload(buffers: &[Buffer], memory: &dyn Buffers, fresh: bool) -> Result<(), Failure> {
    let written = buffers.iter().try_for_each(|buffer| buffer.upload(memory, fresh));
    written.map_err(|error| Failure::usage(error.to_string()))
}

impl Binding {
    fn set(&mut self, parameter: &ParameterLayout, bytes: &[u8]) {
        self.params[parameter.offset as usize..][..bytes.len()].copy_from_slice(bytes);
    }

    /// The bytes of a parameter's value.
    fn value(
        &mut self,
        index: usize,
        parameter: &ParameterLayout,
        argument: Argument,
        memory: &dyn Buffers,
    ) -> Result<Vec<u8>, String> {
        let size = parameter.size as usize;
        let exactly = |bytes: Vec<u8>| match bytes.len() == size {
            true => Ok(bytes),
            false => Err(format!("{}, but the parameter has {size}", count(bytes.len(), "byte"))),
        };
        match &argument.value {
            Value::Scalar { element, number } => {
                no_actions(&argument)?;
                scalar(parameter, *element, number)
            }
            Value::Null => {
                needs_pointer(parameter).and_then(|()| no_actions(&argument)).map(|()| vec![0; size])
            }
            Value::Bytes(bytes) => no_actions(&argument).and_then(|()| exactly(bytes.clone())),
            Value::File(path) => no_actions(&argument).and_then(|()| exactly(read_file(path)?)),
            Value::Generated { element, shape, fill } => {
                let contents = Contents::Fill(fill.clone());
                self.buffer(index, parameter, (*element, shape.clone(), contents), argument.actions, memory)
            }
            Value::Input { path, element, shape } => {
                let (element, shape, bytes) = input(path, *element, shape.as_deref())?;
                self.buffer(
                    index,
                    parameter,
                    (element, shape, Contents::Bytes(bytes)),
                    argument.actions,
                    memory,
                )
            }
            // Bound when all buffers have their addresses.
            Value::Same { .. } => Ok(vec![0; size]),
        }
    }

    fn buffer(
        &mut self,
        index: usize,
        parameter: &ParameterLayout,
        (element, shape, contents): (Element, Vec<u64>, Contents),
        actions: Vec<Action>,
        memory: &dyn Buffers,
    ) -> Result<Vec<u8>, String> {
        needs_pointer(parameter)?;
        let bytes = shape.iter().product::<u64>() * element.bytes() as u64;
        let address = memory.allocate(bytes).map_err(|error| error.to_string())?;
        let tasks =
            actions.into_iter().map(|action| task(action, element, &shape)).collect::<Result<_, _>>()?;
        let name = parameter.name.clone();
        self.buffers.push(Buffer { parameter: index, name, element, shape, address, bytes, contents, tasks });
        Ok(address.to_le_bytes().to_vec())
    }
}

impl Buffer {
    /// How many elements it has.
    pub(crate) fn elements(&self) -> u64 {
        self.bytes / self.element.bytes() as u64
    }

    /// `f32[64x64]`.
    pub(crate) fn described(&self) -> String {
        described(self.element, &self.shape)
    }

    /// Writes its contents as they are before a launch. `fresh` memory is zero already.
    pub(crate) fn upload(&self, memory: &dyn Buffers, fresh: bool) -> Result<(), MemoryError> {
        let fill = match &self.contents {
            Contents::Bytes(bytes) => return memory.write(self.address, bytes),
            Contents::Fill(Fill::Zeros) if fresh => return Ok(()),
            Contents::Fill(fill) => fill,
        };
        let at_once = CHUNK / self.element.bytes() as u64;
        let mut chunk = Vec::new();
        for first in (0..self.elements()).step_by(at_once as usize) {
            chunk.clear();
            for index in first..(first + at_once).min(self.elements()) {
                self.element.put(&mut chunk, fill.at(self.element, index));
            }
            memory.write(self.address + first * self.element.bytes() as u64, &chunk)?;
        }
        Ok(())
    }

    /// What it holds now.
    pub(crate) fn download(&self, memory: &dyn Buffers) -> Result<Vec<u8>, MemoryError> {
        let mut bytes = vec![0; self.bytes as usize];
        memory.read(self.address, &mut bytes).map(|()| bytes)
    }
}

fn described(element: Element, shape: &[u64]) -> String {
    let extents: Vec<_> = shape.iter().map(u64::to_string).collect();
    format!("{element}[{}]", extents.join("x"))
}

fn scalar(parameter: &ParameterLayout, element: Option<Element>, number: &str) -> Result<Vec<u8>, String> {
    if parameter.size != parameter.ty.bytes() {
        return Err(format!(
            "a number, but the parameter has {} bytes; pass a structure as bytes:HEX or file:PATH",
            parameter.size
        ));
    }
    let own = Element::of(parameter.ty).ok_or("the parameter's type holds no number; pass bytes:HEX")?;
    let element = element.unwrap_or(own);
    if element.bytes() != own.bytes() {
        let (given, has) = (element.bytes(), own.bytes());
        return Err(format!("{element} has {given} bytes, but the parameter has {has}"));
    }
    let hint = |error: String| {
        let is_name = number.starts_with(|c: char| c.is_alphabetic() || matches!(c, '.' | '/' | '_'));
        let missing = is_name && Path::new(number).exists();
        if missing { format!("{error}; write in:{number} to pass a file") } else { error }
    };
    let mut bytes = Vec::new();
    element.put(&mut bytes, element.parse(number).map_err(hint)?);
    Ok(bytes)
}

fn read_file(path: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

/// A buffer's contents from a file.
fn input(
    path: &Path,
    element: Option<Element>,
    shape: Option<&[u64]>,
) -> Result<(Element, Vec<u64>, Vec<u8>), String> {
    let name = path.display();
    let (element, own_shape, bytes) = if npy::is_npy(path) {
        let array = npy::read(path).map_err(|error| format!("cannot read {name}: {error}"))?;
        if element.is_some_and(|element| element != array.element) {
            return Err(format!("{name} holds {}", described(array.element, &array.shape)));
        }
        (array.element, array.shape, array.bytes)
    } else {
        let bytes = read_file(path)?;
        let element = element.ok_or_else(|| format!("{name} does not tell its type; write in:{name}:f32"))?;
        if bytes.len() % element.bytes() != 0 {
            return Err(format!(
                "{name} has {} bytes, no multiple of {element}'s {}",
                bytes.len(),
                element.bytes()
            ));
        }
        let elements = (bytes.len() / element.bytes()) as u64;
        (element, vec![elements], bytes)
    };
    let shape = shape.map_or(own_shape, <[u64]>::to_vec);
    let elements = (bytes.len() / element.bytes()) as u64;
    match shape.iter().product::<u64>() == elements {
        true => Ok((element, shape, bytes)),
        false => {
            Err(format!("{name} has {elements} elements, but {} was asked for", described(element, &shape)))
        }
    }
}

/// Reads what an action needs before the launch, so that nothing is computed in vain.
fn task(action: Action, element: Element, shape: &[u64]) -> Result<Task, String> {
    match action {
        Action::Print { limit, hex } => Ok(Task::Print { limit, hex }),
        Action::Output(path) => {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            match folder.is_none_or(Path::is_dir) {
                true => Ok(Task::Output(path)),
                false => Err(format!("there is no folder for {}", path.display())),
            }
        }
        Action::Expect { expected, tolerance } => {
            expected_contents(expected, element, shape).map(|expected| Task::Expect { expected, tolerance })
        }
    }
}

fn expected_contents(expected: Expected, element: Element, shape: &[u64]) -> Result<Contents, String> {
    let elements = shape.iter().product::<u64>();
    let right_length = |length: u64, what: Cow<'_, str>| match length == elements {
        true => Ok(()),
        false => Err(format!("{what} has {length} elements, but the buffer has {elements}")),
    };
    let fill = match expected {
        Expected::File(path) => {
            let typed = (!npy::is_npy(&path)).then_some(element);
            let (found, _, bytes) = input(&path, typed, None)?;
            let name = path.display().to_string();
            // NumPy has no untyped bits; what it saves as unsigned numbers is as good.
            if found != element
                && (found.is_float() || element.is_float() || found.bytes() != element.bytes())
            {
                return Err(format!("{name} holds {found}, but the buffer {element}"));
            }
            right_length((bytes.len() / found.bytes()) as u64, name.into())?;
            return Ok(Contents::Bytes(bytes));
        }
        Expected::List(numbers) => {
            right_length(numbers.len() as u64, "the list".into())?;
            Fill::List(numbers.iter().map(|number| element.parse(number)).collect::<Result<_, _>>()?)
        }
        Expected::Fill(number) => Fill::Constant(element.parse(&number)?),
        Expected::Range { start, step } => Fill::range(element, start.as_deref(), step.as_deref())?,
    };
    Ok(Contents::Fill(fill))
}
