; Functions for a row that instructions call: `.ftz`, arithmetic of halves, and division of integers.
;
; `$i32` is a vector of a row's width, `#i32:5` one with 5 in each lane, `$n` the width.

; numerics::float::flush_f32
define internal $i32 @flush($i32 %x) alwaysinline {
  %exponent = and $i32 %x, #i32:0x7f800000
  %tiny = icmp eq $i32 %exponent, zeroinitializer
  %sign = and $i32 %x, #i32:0x80000000
  %y = select $i1 %tiny, $i32 %sign, $i32 %x
  ret $i32 %y
}

; Whether `.ftz` of a product flushes it, which 2^64 times the product tells (numerics::float::flush_tiny).
define internal $i32 @flush_tiny($i32 %x, $f32 %lifted) alwaysinline {
  %bits = bitcast $f32 %lifted to $i32
  %magnitude = and $i32 %bits, #i32:0x7fffffff
  %tiny = icmp ult $i32 %magnitude, #i32:0x20800000
  %sign = and $i32 %x, #i32:0x80000000
  %y = select $i1 %tiny, $i32 %sign, $i32 %x
  ret $i32 %y
}

; numerics::float::saturate_f32
define internal $i32 @saturate($i32 %x) alwaysinline {
  %number = bitcast $i32 %x to $f32
  %below = fcmp olt $f32 %number, #f32:1.0
  %clamped = select $i1 %below, $i32 %x, $i32 #i32:0x3f800000
  %above = fcmp ogt $f32 %number, zeroinitializer
  %y = select $i1 %above, $i32 %clamped, $i32 zeroinitializer
  ret $i32 %y
}

; One NaN for all.
define internal $i32 @canonical($i32 %x) alwaysinline {
  %number = bitcast $i32 %x to $f32
  %nan = fcmp uno $f32 %number, %number
  %y = select $i1 %nan, $i32 #i32:0x7fffffff, $i32 %x
  ret $i32 %y
}

define internal $i32 @add($i32 %a, $i32 %b) alwaysinline {
  %x = bitcast $i32 %a to $f32
  %y = bitcast $i32 %b to $f32
  %z = fadd $f32 %x, %y
  %bits = bitcast $f32 %z to $i32
  ret $i32 %bits
}

define internal $i32 @add.ftz($i32 %a, $i32 %b) alwaysinline {
  %x = call $i32 @flush($i32 %a)
  %y = call $i32 @flush($i32 %b)
  %z = call $i32 @add($i32 %x, $i32 %y)
  %flushed = call $i32 @flush($i32 %z)
  ret $i32 %flushed
}

define internal $i32 @sub.ftz($i32 %a, $i32 %b) alwaysinline {
  %negated = xor $i32 %b, #i32:0x80000000
  %y = call $i32 @add.ftz($i32 %a, $i32 %negated)
  ret $i32 %y
}

define internal $i32 @sub($i32 %a, $i32 %b) alwaysinline {
  %negated = xor $i32 %b, #i32:0x80000000
  %y = call $i32 @add($i32 %a, $i32 %negated)
  ret $i32 %y
}

; A product in which subnormals count.
define internal $i32 @mul($i32 %a, $i32 %b) alwaysinline {
  %x = bitcast $i32 %a to $f32
  %y = bitcast $i32 %b to $f32
  %z = fmul $f32 %x, %y
  %bits = bitcast $f32 %z to $i32
  ret $i32 %bits
}

define internal $i32 @mul.ftz($i32 %a, $i32 %b) alwaysinline {
  %fa = call $i32 @flush($i32 %a)
  %fb = call $i32 @flush($i32 %b)
  %x = bitcast $i32 %fa to $f32
  %y = bitcast $i32 %fb to $f32
  %z = fmul $f32 %x, %y
  %lift = fmul $f32 %x, #f32:18446744073709551616.0
  %lifted = fmul $f32 %lift, %y
  %bits = bitcast $f32 %z to $i32
  %flushed = call $i32 @flush_tiny($i32 %bits, $f32 %lifted)
  ret $i32 %flushed
}

declare $f32 @llvm.fma.v$nf32($f32, $f32, $f32)

define internal $i32 @fma($i32 %a, $i32 %b, $i32 %c) alwaysinline {
  %x = bitcast $i32 %a to $f32
  %y = bitcast $i32 %b to $f32
  %z = bitcast $i32 %c to $f32
  %sum = call $f32 @llvm.fma.v$nf32($f32 %x, $f32 %y, $f32 %z)
  %bits = bitcast $f32 %sum to $i32
  ret $i32 %bits
}

define internal $i32 @fma.ftz($i32 %a, $i32 %b, $i32 %c) alwaysinline {
  %fa = call $i32 @flush($i32 %a)
  %fb = call $i32 @flush($i32 %b)
  %fc = call $i32 @flush($i32 %c)
  %x = bitcast $i32 %fa to $f32
  %y = bitcast $i32 %fb to $f32
  %z = bitcast $i32 %fc to $f32
  %sum = call $f32 @llvm.fma.v$nf32($f32 %x, $f32 %y, $f32 %z)
  %up = fmul $f32 %x, #f32:18446744073709551616.0
  %addend = fmul $f32 %z, #f32:18446744073709551616.0
  %lifted = call $f32 @llvm.fma.v$nf32($f32 %up, $f32 %y, $f32 %addend)
  %bits = bitcast $f32 %sum to $i32
  %flushed = call $i32 @flush_tiny($i32 %bits, $f32 %lifted)
  ret $i32 %flushed
}

; numerics::half: arithmetic in `.f32`, where a sum of halves may round and a product is exact, rounded once more.
define internal $i32 @f16.widen($i16 %x) alwaysinline {
  %half = bitcast $i16 %x to $f16
  %float = fpext $f16 %half to $f32
  %y = bitcast $f32 %float to $i32
  ret $i32 %y
}

define internal $i16 @f16.narrow($i32 %x) alwaysinline {
  %float = bitcast $i32 %x to $f32
  %half = fptrunc $f32 %float to $f16
  %bits = bitcast $f16 %half to $i16
  %nan = fcmp uno $f32 %float, %float
  %y = select $i1 %nan, $i16 #i16:0x7fff, $i16 %bits
  ret $i16 %y
}

define internal $i16 @f16.add($i16 %a, $i16 %b) alwaysinline {
  %x = call $i32 @f16.widen($i16 %a)
  %y = call $i32 @f16.widen($i16 %b)
  %sum = call $i32 @add($i32 %x, $i32 %y)
  %z = call $i16 @f16.narrow($i32 %sum)
  ret $i16 %z
}

define internal $i16 @f16.sub($i16 %a, $i16 %b) alwaysinline {
  %negated = xor $i16 %b, #i16:0x8000
  %y = call $i16 @f16.add($i16 %a, $i16 %negated)
  ret $i16 %y
}

define internal $i16 @f16.mul($i16 %a, $i16 %b) alwaysinline {
  %x = call $i32 @f16.widen($i16 %a)
  %y = call $i32 @f16.widen($i16 %b)
  %product = call $i32 @mul($i32 %x, $i32 %y)
  %z = call $i16 @f16.narrow($i32 %product)
  ret $i16 %z
}

; A sum rounded to odd: of the two values around an exact one that is neither, the one whose last bit is set.
define internal $i32 @add_odd($i32 %a, $i32 %b) alwaysinline {
  %x = bitcast $i32 %a to $f32
  %y = bitcast $i32 %b to $f32
  %sum = fadd $f32 %x, %y
  %y.in = fsub $f32 %sum, %x
  %x.in = fsub $f32 %sum, %y.in
  %x.off = fsub $f32 %x, %x.in
  %y.off = fsub $f32 %y, %y.in
  %error = fadd $f32 %x.off, %y.off
  %bits = bitcast $f32 %sum to $i32
  %inexact = fcmp one $f32 %error, zeroinitializer
  %last = trunc $i32 %bits to $i1
  %even = xor $i1 %last, #i1:true
  %steps = and $i1 %inexact, %even
  %error.bits = bitcast $f32 %error to $i32
  %signs = xor $i32 %bits, %error.bits
  %toward.zero = ashr $i32 %signs, #i32:31
  %step = or $i32 %toward.zero, #i32:1
  %stepped = add $i32 %bits, %step
  %z = select $i1 %steps, $i32 %stepped, $i32 %bits
  ret $i32 %z
}

define internal $i16 @f16.fma($i16 %a, $i16 %b, $i16 %c) alwaysinline {
  %x = call $i32 @f16.widen($i16 %a)
  %y = call $i32 @f16.widen($i16 %b)
  %z = call $i32 @f16.widen($i16 %c)
  %product = call $i32 @mul($i32 %x, $i32 %y)
  %sum = call $i32 @add_odd($i32 %product, $i32 %z)
  %w = call $i16 @f16.narrow($i32 %sum)
  ret $i16 %w
}

define internal $i32 @bf16.widen($i16 %x) alwaysinline {
  %wide = zext $i16 %x to $i32
  %y = shl $i32 %wide, #i32:16
  ret $i32 %y
}

define internal $i16 @bf16.narrow($i32 %x) alwaysinline {
  %above = lshr $i32 %x, #i32:16
  %odd = and $i32 %above, #i32:1
  %half = add $i32 %odd, #i32:0x7fff
  %rounded = add $i32 %x, %half
  %top = lshr $i32 %rounded, #i32:16
  %bits = trunc $i32 %top to $i16
  %float = bitcast $i32 %x to $f32
  %nan = fcmp uno $f32 %float, %float
  %y = select $i1 %nan, $i16 #i16:0x7fff, $i16 %bits
  ret $i16 %y
}

define internal $i16 @bf16.add($i16 %a, $i16 %b) alwaysinline {
  %x = call $i32 @bf16.widen($i16 %a)
  %y = call $i32 @bf16.widen($i16 %b)
  %sum = call $i32 @add($i32 %x, $i32 %y)
  %z = call $i16 @bf16.narrow($i32 %sum)
  ret $i16 %z
}

define internal $i16 @bf16.sub($i16 %a, $i16 %b) alwaysinline {
  %negated = xor $i16 %b, #i16:0x8000
  %y = call $i16 @bf16.add($i16 %a, $i16 %negated)
  ret $i16 %y
}

; numerics::half: the number of two, if one is none; -0 is below +0. What is above `%infinity` is no number.
define internal $i16 @half.order($i16 %x) alwaysinline {
  %sign = ashr $i16 %x, #i16:15
  %flips = lshr $i16 %sign, #i16:1
  %y = xor $i16 %x, %flips
  ret $i16 %y
}

define internal $i16 @half.of($i16 %a, $i16 %b, $i1 %first, $i16 %infinity) alwaysinline {
  %a.magnitude = and $i16 %a, #i16:0x7fff
  %b.magnitude = and $i16 %b, #i16:0x7fff
  %a.none = icmp ugt $i16 %a.magnitude, %infinity
  %b.none = icmp ugt $i16 %b.magnitude, %infinity
  %number = select $i1 %first, $i16 %a, $i16 %b
  %unless.a = select $i1 %a.none, $i16 %b, $i16 %number
  %unless.b = select $i1 %b.none, $i16 %a, $i16 %unless.a
  %none = and $i1 %a.none, %b.none
  %y = select $i1 %none, $i16 #i16:0x7fff, $i16 %unless.b
  ret $i16 %y
}

define internal $i16 @half.max($i16 %a, $i16 %b, $i16 %infinity) alwaysinline {
  %x = call $i16 @half.order($i16 %a)
  %y = call $i16 @half.order($i16 %b)
  %first = icmp sgt $i16 %x, %y
  %z = call $i16 @half.of($i16 %a, $i16 %b, $i1 %first, $i16 %infinity)
  ret $i16 %z
}

define internal $i16 @half.min($i16 %a, $i16 %b, $i16 %infinity) alwaysinline {
  %x = call $i16 @half.order($i16 %a)
  %y = call $i16 @half.order($i16 %b)
  %first = icmp slt $i16 %x, %y
  %z = call $i16 @half.of($i16 %a, $i16 %b, $i1 %first, $i16 %infinity)
  ret $i16 %z
}

define internal $i16 @f16.max($i16 %a, $i16 %b) alwaysinline {
  %y = call $i16 @half.max($i16 %a, $i16 %b, $i16 #i16:0x7c00)
  ret $i16 %y
}

define internal $i16 @f16.min($i16 %a, $i16 %b) alwaysinline {
  %y = call $i16 @half.min($i16 %a, $i16 %b, $i16 #i16:0x7c00)
  ret $i16 %y
}

define internal $i16 @bf16.max($i16 %a, $i16 %b) alwaysinline {
  %y = call $i16 @half.max($i16 %a, $i16 %b, $i16 #i16:0x7f80)
  ret $i16 %y
}

define internal $i16 @bf16.min($i16 %a, $i16 %b) alwaysinline {
  %y = call $i16 @half.min($i16 %a, $i16 %b, $i16 #i16:0x7f80)
  ret $i16 %y
}

; Quotients and remainders of integers. LLVM divides vectors lane by lane, and takes without end to generate such code where all lanes divide the
; same number (level 0, LLVM 19 and 22). A quotient of floats is off by less than a quotient that is no integer is from the next one, if the
; dividend has no more bits than the fraction; then cutting off gives the integer. By zero all bits are ones; the least number by -1 wraps.
define internal $i16 @div.u16($i16 %a, $i16 %b) noinline {
  %x = uitofp $i16 %a to $f32
  %y = uitofp $i16 %b to $f32
  %z = fdiv $f32 %x, %y
  %wide = fptoui $f32 %z to $i32
  %q = trunc $i32 %wide to $i16
  %zero = icmp eq $i16 %b, zeroinitializer
  %result = select $i1 %zero, $i16 #i16:-1, $i16 %q
  ret $i16 %result
}

define internal $i16 @div.s16($i16 %a, $i16 %b) noinline {
  %x = sitofp $i16 %a to $f32
  %y = sitofp $i16 %b to $f32
  %z = fdiv $f32 %x, %y
  %wide = fptosi $f32 %z to $i32
  %q = trunc $i32 %wide to $i16
  %zero = icmp eq $i16 %b, zeroinitializer
  %result = select $i1 %zero, $i16 #i16:-1, $i16 %q
  ret $i16 %result
}

define internal $i32 @div.u32($i32 %a, $i32 %b) noinline {
  %x = uitofp $i32 %a to $f64
  %y = uitofp $i32 %b to $f64
  %z = fdiv $f64 %x, %y
  %q = fptoui $f64 %z to $i32
  %zero = icmp eq $i32 %b, zeroinitializer
  %result = select $i1 %zero, $i32 #i32:-1, $i32 %q
  ret $i32 %result
}

define internal $i32 @div.s32($i32 %a, $i32 %b) noinline {
  %x = sitofp $i32 %a to $f64
  %y = sitofp $i32 %b to $f64
  %z = fdiv $f64 %x, %y
  %q = fptosi $f64 %z to $i32
  %negative = sub $i32 zeroinitializer, %a
  %negates = icmp eq $i32 %b, #i32:-1
  %number = select $i1 %negates, $i32 %negative, $i32 %q
  %zero = icmp eq $i32 %b, zeroinitializer
  %result = select $i1 %zero, $i32 #i32:-1, $i32 %number
  ret $i32 %result
}

declare $f64 @llvm.trunc.v$nf64($f64)
declare i64 @llvm.vector.reduce.or.v$ni64($i64)

; Numbers below 2^52 are the lower bits of their sum with it, as a float.
define internal $i64 @div.u64($i64 %a, $i64 %b) noinline {
entry:
  %bits = or $i64 %a, %b
  %all = call i64 @llvm.vector.reduce.or.v$ni64($i64 %bits)
  %few = icmp ult i64 %all, 4503599627370496
  br i1 %few, label %floats, label %integers
floats:
  %a.above = or $i64 %a, #i64:0x4330000000000000
  %b.above = or $i64 %b, #i64:0x4330000000000000
  %a.float = bitcast $i64 %a.above to $f64
  %b.float = bitcast $i64 %b.above to $f64
  %x = fsub $f64 %a.float, #f64:0x4330000000000000
  %y = fsub $f64 %b.float, #f64:0x4330000000000000
  %z = fdiv $f64 %x, %y
  %cut = call $f64 @llvm.trunc.v$nf64($f64 %z)
  %above = fadd $f64 %cut, #f64:0x4330000000000000
  %above.bits = bitcast $f64 %above to $i64
  %short = and $i64 %above.bits, #i64:0xfffffffffffff
  br label %done
integers:
  %long = call $i64 @div.lanes($i64 %a, $i64 %b)
  br label %done
done:
  %q = phi $i64 [ %short, %floats ], [ %long, %integers ]
  %zero = icmp eq $i64 %b, zeroinitializer
  %result = select $i1 %zero, $i64 #i64:-1, $i64 %q
  ret $i64 %result
}

; Lane by lane; whatever by zero.
define internal $i64 @div.lanes($i64 %a, $i64 %b) noinline {
  %zero = icmp eq $i64 %b, zeroinitializer
  %divisor = select $i1 %zero, $i64 #i64:1, $i64 %b
  %q = udiv $i64 %a, %divisor
  ret $i64 %q
}

define internal $i64 @div.s64($i64 %a, $i64 %b) noinline {
  %a.sign = ashr $i64 %a, #i64:63
  %b.sign = ashr $i64 %b, #i64:63
  %a.flipped = xor $i64 %a, %a.sign
  %b.flipped = xor $i64 %b, %b.sign
  %a.magnitude = sub $i64 %a.flipped, %a.sign
  %b.magnitude = sub $i64 %b.flipped, %b.sign
  %magnitude = call $i64 @div.u64($i64 %a.magnitude, $i64 %b.magnitude)
  %sign = xor $i64 %a.sign, %b.sign
  %flipped = xor $i64 %magnitude, %sign
  %q = sub $i64 %flipped, %sign
  %zero = icmp eq $i64 %b, zeroinitializer
  %result = select $i1 %zero, $i64 #i64:-1, $i64 %q
  ret $i64 %result
}

define internal $i16 @rem.u16($i16 %a, $i16 %b) noinline {
  %q = call $i16 @div.u16($i16 %a, $i16 %b)
  %product = mul $i16 %q, %b
  %r = sub $i16 %a, %product
  %zero = icmp eq $i16 %b, zeroinitializer
  %result = select $i1 %zero, $i16 #i16:-1, $i16 %r
  ret $i16 %result
}

define internal $i16 @rem.s16($i16 %a, $i16 %b) noinline {
  %q = call $i16 @div.s16($i16 %a, $i16 %b)
  %product = mul $i16 %q, %b
  %r = sub $i16 %a, %product
  %zero = icmp eq $i16 %b, zeroinitializer
  %result = select $i1 %zero, $i16 #i16:-1, $i16 %r
  ret $i16 %result
}

define internal $i32 @rem.u32($i32 %a, $i32 %b) noinline {
  %q = call $i32 @div.u32($i32 %a, $i32 %b)
  %product = mul $i32 %q, %b
  %r = sub $i32 %a, %product
  %zero = icmp eq $i32 %b, zeroinitializer
  %result = select $i1 %zero, $i32 #i32:-1, $i32 %r
  ret $i32 %result
}

define internal $i32 @rem.s32($i32 %a, $i32 %b) noinline {
  %q = call $i32 @div.s32($i32 %a, $i32 %b)
  %product = mul $i32 %q, %b
  %r = sub $i32 %a, %product
  %zero = icmp eq $i32 %b, zeroinitializer
  %result = select $i1 %zero, $i32 #i32:-1, $i32 %r
  ret $i32 %result
}

define internal $i64 @rem.u64($i64 %a, $i64 %b) noinline {
  %q = call $i64 @div.u64($i64 %a, $i64 %b)
  %product = mul $i64 %q, %b
  %r = sub $i64 %a, %product
  %zero = icmp eq $i64 %b, zeroinitializer
  %result = select $i1 %zero, $i64 #i64:-1, $i64 %r
  ret $i64 %result
}

define internal $i64 @rem.s64($i64 %a, $i64 %b) noinline {
  %q = call $i64 @div.s64($i64 %a, $i64 %b)
  %product = mul $i64 %q, %b
  %r = sub $i64 %a, %product
  %zero = icmp eq $i64 %b, zeroinitializer
  %result = select $i1 %zero, $i64 #i64:-1, $i64 %r
  ret $i64 %result
}
