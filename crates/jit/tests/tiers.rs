//! Kernels that are interpreted until their code is there, also in the middle of a grid.

mod common;

use common::Setting;
use jit::Jit;
use machine::LaunchOptions;
use machine::compiled::{Background, Code, Engine, EngineId, Request, Source};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Adds to each word of its own how often it goes round a loop.
const KERNEL: &str = "
.version 8.0
.target sm_80
.address_size 64
.visible .entry rounds(.param .u64 out, .param .u32 times)
{
    .reg .pred %p;
    .reg .b32 %r<8>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [out];
    ld.param.u32 %r1, [times];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.u32 %r5, %r2, %r3, %r4;
    mov.u32 %r6, 0;
    mov.u32 %r7, %r5;
LOOP:
    mad.lo.u32 %r7, %r7, 1664525, 1013904223;
    add.u32 %r6, %r6, 1;
    setp.lt.u32 %p, %r6, %r1;
    @%p bra LOOP;
    mul.wide.u32 %rd2, %r5, 4;
    add.s64 %rd3, %rd1, %rd2;
    st.global.u32 [%rd3], %r7;
    ret;
}
";

fn expected(times: u32, threads: u32) -> Vec<u32> {
    let of = |thread| (0..times).fold(thread, |x: u32, _| x.wrapping_mul(1664525).wrapping_add(1013904223));
    (0..threads).map(of).collect()
}

/// Compiles as soon as it is asked to, at a threshold of the test's.
struct AtOnce {
    jit: Jit,
    threshold: u64,
    asked: AtomicUsize,
}

impl Engine for AtOnce {
    fn id(&self) -> EngineId {
        self.jit.id()
    }

    fn background(&self) -> Option<&dyn Background> {
        Some(self)
    }

    fn compile(&self, source: &Source<'_>) -> Result<Arc<dyn Code>, String> {
        self.jit.compile(source)
    }

    fn declined(&self, _: &str, _: &str) {}
}

impl Background for AtOnce {
    fn threshold(&self) -> u64 {
        self.threshold
    }

    fn submit(&self, request: Request) {
        self.asked.fetch_add(1, Ordering::Relaxed);
        request.carry_out(&self.jit);
    }
}

fn at_once(threshold: u64) -> Option<AtOnce> {
    match Jit::find() {
        Ok(jit) => Some(AtOnce { jit, threshold, asked: AtomicUsize::new(0) }),
        Err(why) => {
            eprintln!("skipped: {why}");
            None
        }
    }
}

#[test]
fn a_grid_goes_on_compiled_where_it_is() {
    let Some(engine) = at_once(10_000) else { return };
    for threads in [1, 2, 5] {
        let setting = Setting::new(KERNEL, 4 * 64 * 500);
        let launch = setting.launch("rounds", 500, 64, &[100]);
        let options = LaunchOptions { threads, engine: Some(&engine), ..LaunchOptions::default() };
        let report = setting.device.launch(&launch, &options).expect("no fault");
        assert_eq!(report.compiled, Some(Ok(())));
        assert_eq!(setting.words(64 * 500), expected(100, 64 * 500));
    }
    assert_eq!(engine.asked.into_inner(), 3);
}

/// What counts is what was interpreted of the kernel, over all its launches, and not the time.
#[test]
fn small_launches_are_compiled_when_they_add_up() {
    let Some(engine) = at_once(100_000) else { return };
    let setting = Setting::new(KERNEL, 4 * 32);
    let launch = setting.launch("rounds", 1, 32, &[10]);
    let options = LaunchOptions { threads: 1, engine: Some(&engine), ..LaunchOptions::default() };
    let launches =
        || (0..).find(|_| setting.device.launch(&launch, &options).unwrap().compiled == Some(Ok(())));
    let once = launches().expect("some time");
    assert!(once > 100, "{once}");
    assert_eq!(setting.words(32), expected(10, 32));
    // The same again with another engine: what it makes of the kernel is not the first one's.
    let Some(engine) = at_once(100_000) else { return };
    let options = LaunchOptions { threads: 1, engine: Some(&engine), ..LaunchOptions::default() };
    let launches =
        || (0..).find(|_| setting.device.launch(&launch, &options).unwrap().compiled == Some(Ok(())));
    assert_eq!(launches(), Some(once));
}

#[test]
fn what_is_small_stays_interpreted() {
    let Some(engine) = at_once(1 << 20) else { return };
    let setting = Setting::new(KERNEL, 4 * 32);
    let launch = setting.launch("rounds", 1, 32, &[10]);
    let options = LaunchOptions { engine: Some(&engine), ..LaunchOptions::default() };
    let report = setting.device.launch(&launch, &options).unwrap();
    assert_eq!(report.compiled, Some(Err("it has not run for long enough to be compiled".to_owned())));
    assert_eq!(engine.asked.into_inner(), 0);
}

/// The engine as `auto` has it, on its own thread.
fn beside() -> Option<Jit> {
    if let Err(why) = Jit::find() {
        eprintln!("skipped: {why}");
        return None;
    }
    Some(Jit::beside().expect("an engine"))
}

#[test]
fn beside_the_launches() {
    let Some(engine) = beside() else { return };
    let setting = Setting::new(KERNEL, 4 * 64 * 500);
    let launch = setting.launch("rounds", 500, 64, &[1000]);
    let options = LaunchOptions { engine: Some(&engine), ..LaunchOptions::default() };
    let launches =
        || (0..10_000).find(|_| setting.device.launch(&launch, &options).unwrap().compiled == Some(Ok(())));
    assert!(launches().is_some());
    assert_eq!(setting.words(64 * 500), expected(1000, 64 * 500));
    // A module that goes while its kernel is compiled takes the request with it.
    for _ in 0..20 {
        let setting = Setting::new(KERNEL, 4 * 64 * 500);
        setting.device.launch(&setting.launch("rounds", 500, 64, &[200]), &options).unwrap();
    }
}

/// Launches before, while and after quick code and better code come, in which all blocks but the first ones may run by it.
#[test]
fn every_tier_gives_the_same() {
    let Some(engine) = beside() else { return };
    let setting = Setting::new(KERNEL, 4 * 64 * 500);
    let launch = setting.launch("rounds", 500, 64, &[1000]);
    let options = LaunchOptions { engine: Some(&engine), ..LaunchOptions::default() };
    // A launch is four million warp instructions.
    for _ in 0..40 {
        setting.device.launch(&launch, &options).expect("no fault");
        assert_eq!(setting.words(64 * 500), expected(1000, 64 * 500));
        setting.device.memory().write(setting.buffer, &vec![0; 4 * 64 * 500]).expect("memory");
    }
}
