; Functions for a row that instructions call: `.ftz`, and arithmetic of halves.
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
