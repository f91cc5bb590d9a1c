; Functions for a row that instructions call: the special-function unit as `numerics::special` has it, and `.ftz`.
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

; numerics::special::interpolate: the square of 17 bits divided by 2^19, without the columns of low weight. All numbers fit in 16 bits.
define internal $i32 @square($i32 %x) alwaysinline {
  %x.high = lshr $i32 %x, #i32:9
  %x.low = and $i32 %x, #i32:511
  %h = trunc $i32 %x.high to $i16
  %l = trunc $i32 %x.low to $i16
  ; Products of bits of which all are in columns that count.
  %h4 = lshr $i16 %h, #i16:4
  %l5 = lshr $i16 %l, #i16:5
  %most = mul $i16 %h4, %l5
  %h6 = lshr $i16 %h, #i16:6
  %l3 = lshr $i16 %l, #i16:3
  %l3.2 = and $i16 %l3, #i16:3
  %upper = mul $i16 %h6, %l3.2
  %h2 = lshr $i16 %h, #i16:2
  %h2.2 = and $i16 %h2, #i16:3
  %l7 = lshr $i16 %l, #i16:7
  %lower = mul $i16 %h2.2, %l7
  ; What is left of the last column.
  %b1 = call $i16 @bit($i16 %h, $i16 #i16:7, $i16 %l, $i16 #i16:2)
  %b2 = call $i16 @bit($i16 %h, $i16 #i16:5, $i16 %l, $i16 #i16:4)
  %b3 = call $i16 @bit($i16 %h, $i16 #i16:3, $i16 %l, $i16 #i16:6)
  %b4 = call $i16 @bit($i16 %h, $i16 #i16:1, $i16 %l, $i16 #i16:8)
  %s1 = add $i16 %most, %upper
  %s2 = add $i16 %lower, %b1
  %s3 = add $i16 %b2, %b3
  %s4 = add $i16 %s1, %s2
  %s5 = add $i16 %s3, %b4
  %cross = add $i16 %s4, %s5
  %product = mul $i16 %h, %h
  %half = lshr $i16 %product, #i16:1
  %sum = add $i16 %half, %cross
  %y = zext $i16 %sum to $i32
  ret $i32 %y
}

; The product of two bits.
define internal $i16 @bit($i16 %a, $i16 %of.a, $i16 %b, $i16 %of.b) alwaysinline {
  %x = lshr $i16 %a, %of.a
  %y = lshr $i16 %b, %of.b
  %both = and $i16 %x, %y
  %z = and $i16 %both, #i16:1
  ret $i16 %z
}

declare $i64 @llvm.masked.gather.v$ni64.v$np0($p, i32, $i1, $i64)

; The value of a function at a segment and a distance from its start.
define internal $i64 @value(ptr %rows, $i32 %segment, $i32 %distance, $i32 %up, $i64 %bias, $i64 %constant, $i64 %square, i1 %falls, i1 %convex) alwaysinline {
  %at = getelementptr i64, ptr %rows, $i32 %segment
  %row = call $i64 @llvm.masked.gather.v$ni64.v$np0($p %at, i32 8, $i1 #i1:true, $i64 zeroinitializer)
  %c0 = lshr $i64 %row, #i64:38
  %first = shl $i64 %c0, %constant
  %middle = lshr $i64 %row, #i64:16
  %c1 = and $i64 %middle, #i64:0x3fffff
  %c2 = and $i64 %row, #i64:0xffff
  %d = zext $i32 %distance to $i64
  %linear = mul $i64 %c1, %d
  %wide = shl $i32 %distance, %up
  %squared = call $i32 @square($i32 %wide)
  %s = zext $i32 %squared to $i64
  %bent = mul $i64 %c2, %s
  %quadratic = shl $i64 %bent, %square
  %rising = add $i64 %first, %bias
  %down = sub $i64 %rising, %linear
  %more = add $i64 %rising, %linear
  %line = select i1 %falls, $i64 %down, $i64 %more
  %over = add $i64 %line, %quadratic
  %under = sub $i64 %line, %quadratic
  %y = select i1 %convex, $i64 %over, $i64 %under
  ret $i64 %y
}

; numerics::special::unit::to_float: a fixed-point number cut off to the bits of a float.
define internal $i32 @to_float($i64 %x, $i32 %rebias) alwaysinline {
  %or = or $i64 %x, #i64:0x4330000000000000
  %big = bitcast $i64 %or to $f64
  %float = fsub $f64 %big, #f64:4503599627370496.0
  %bits = bitcast $f64 %float to $i64
  %top = lshr $i64 %bits, #i64:29
  %low = trunc $i64 %top to $i32
  %number = sub $i32 %low, %rebias
  %zero = icmp eq $i64 %x, zeroinitializer
  %y = select $i1 %zero, $i32 zeroinitializer, $i32 %number
  ret $i32 %y
}

; numerics::special::unit::significand: a number whose leading bit is known.
define internal $i32 @significand($i64 %x, $i64 %by, $i32 %exponent) alwaysinline {
  %shifted = lshr $i64 %x, %by
  %low = trunc $i64 %shifted to $i32
  %y = add $i32 %low, %exponent
  ret $i32 %y
}

; Whether all lanes are so little above a number at most. What is computed for those alone is an *ordinary* case of a function: neither the
; operand nor the result is near the ends of the range of normal numbers.
define internal i1 @between($i32 %x, $i32 %least, $i32 %span) alwaysinline {
  %above = sub $i32 %x, %least
  %inside = icmp ult $i32 %above, %span
  %bits = bitcast $i1 %inside to i$n
  %y = icmp eq i$n %bits, -1
  ret i1 %y
}

; A positive result multiplied by a power of two.
define internal $i32 @scaled($i32 %x, $i32 %exponent) alwaysinline {
  %up = shl $i32 %exponent, #i32:23
  %bits = add $i32 %x, %up
  %tiny = icmp slt $i32 %bits, #i32:0x800000
  %flushed = select $i1 %tiny, $i32 zeroinitializer, $i32 %bits
  %fits = icmp slt $i32 %flushed, #i32:0x7f800000
  %y = select $i1 %fits, $i32 %flushed, $i32 #i32:0x7f800000
  ret $i32 %y
}

define internal $i32 @exponent($i32 %x) alwaysinline {
  %shifted = lshr $i32 %x, #i32:23
  %y = and $i32 %shifted, #i32:255
  ret $i32 %y
}

; What of NaN is NaN.
define internal $i32 @unless_nan($i32 %x, $i32 %y) alwaysinline {
  %magnitude = and $i32 %x, #i32:0x7fffffff
  %nan = icmp ugt $i32 %magnitude, #i32:0x7f800000
  %z = select $i1 %nan, $i32 #i32:0x7fffffff, $i32 %y
  ret $i32 %z
}

; The inverse of the mantissa.
define internal $i32 @inverse($i32 %x) alwaysinline {
  %mantissa = and $i32 %x, #i32:0x7fffff
  %segment = lshr $i32 %mantissa, #i32:16
  %distance = and $i32 %mantissa, #i32:0xffff
  %value = call $i64 @value(ptr @rcp.rows, $i32 %segment, $i32 %distance, $i32 #i32:1, $i64 #i64:rcp.bias, $i64 #i64:13, $i64 #i64:0, i1 true, i1 true)
  %float = call $i32 @significand($i64 %value, $i64 #i64:15, $i32 #i32:0x3e800000)
  ret $i32 %float
}

define internal $i32 @unit.rcp($i32 %x) alwaysinline {
  %sign = and $i32 %x, #i32:0x80000000
  %magnitude = and $i32 %x, #i32:0x7fffffff
  %float = call $i32 @inverse($i32 %x)
  %exponent = call $i32 @exponent($i32 %x)
  %power = sub $i32 #i32:127, %exponent
  %finite = call $i32 @scaled($i32 %float, $i32 %power)
  %tiny = icmp ult $i32 %magnitude, #i32:0x800000
  %small = select $i1 %tiny, $i32 #i32:0x7f800000, $i32 %finite
  %infinite = icmp eq $i32 %magnitude, #i32:0x7f800000
  %unsigned = select $i1 %infinite, $i32 zeroinitializer, $i32 %small
  %number = or $i32 %sign, %unsigned
  %y = call $i32 @unless_nan($i32 %x, $i32 %number)
  ret $i32 %y
}

; The exponent halved, and the mantissa of [1, 4) without the leading one.
define internal $i32 @half_exponent($i32 %x) alwaysinline {
  %biased = call $i32 @exponent($i32 %x)
  %exponent = sub $i32 %biased, #i32:127
  %half = ashr $i32 %exponent, #i32:1
  ret $i32 %half
}

define internal $i32 @root_argument($i32 %x) alwaysinline {
  %mantissa = and $i32 %x, #i32:0x7fffff
  %last = xor $i32 %x, #i32:0x800000
  %odd = and $i32 %last, #i32:0x800000
  %y = or $i32 %mantissa, %odd
  ret $i32 %y
}

define internal $i32 @of_positive($i32 %x, $i32 %finite, $i32 %zero, $i32 %infinity) alwaysinline {
  %magnitude = and $i32 %x, #i32:0x7fffffff
  %sign = and $i32 %x, #i32:0x80000000
  %nan = icmp ugt $i32 %magnitude, #i32:0x7f800000
  %negative = icmp ugt $i32 %x, #i32:0x807fffff
  %invalid = or $i1 %nan, %negative
  %infinite = icmp eq $i32 %x, #i32:0x7f800000
  %number = select $i1 %infinite, $i32 %infinity, $i32 %finite
  %tiny = icmp ult $i32 %magnitude, #i32:0x800000
  %of_zero = or $i32 %sign, %zero
  %defined = select $i1 %tiny, $i32 %of_zero, $i32 %number
  %y = select $i1 %invalid, $i32 #i32:0x7fffffff, $i32 %defined
  ret $i32 %y
}

; The root of the mantissa in [1, 4).
define internal $i32 @root($i32 %x) alwaysinline {
  %argument = call $i32 @root_argument($i32 %x)
  %segment = lshr $i32 %argument, #i32:17
  %distance = and $i32 %argument, #i32:0x1ffff
  %value = call $i64 @value(ptr @sqrt.rows, $i32 %segment, $i32 %distance, $i32 #i32:0, $i64 #i64:sqrt.bias, $i64 #i64:15, $i64 #i64:1, i1 false, i1 false)
  %float = call $i32 @significand($i64 %value, $i64 #i64:17, $i32 #i32:0x3f000000)
  ret $i32 %float
}

define internal $i32 @unit.sqrt($i32 %x) alwaysinline {
  %half = call $i32 @half_exponent($i32 %x)
  %significand = call $i32 @root($i32 %x)
  %root = call $i32 @scaled($i32 %significand, $i32 %half)
  %y = call $i32 @of_positive($i32 %x, $i32 %root, $i32 zeroinitializer, $i32 #i32:0x7f800000)
  ret $i32 %y
}

; The inverse root of the mantissa in [1, 4).
define internal $i32 @inverse_root($i32 %x) alwaysinline {
  %argument = call $i32 @root_argument($i32 %x)
  %segment = lshr $i32 %argument, #i32:17
  %distance = and $i32 %argument, #i32:0x1ffff
  %value = call $i64 @value(ptr @rsqrt.rows, $i32 %segment, $i32 %distance, $i32 #i32:0, $i64 #i64:rsqrt.bias, $i64 #i64:14, $i64 #i64:2, i1 true, i1 true)
  %float = call $i32 @significand($i64 %value, $i64 #i64:16, $i32 #i32:0x3e800000)
  %one = icmp eq $i32 %argument, zeroinitializer
  %inverse = select $i1 %one, $i32 #i32:0x3f800000, $i32 %float
  ret $i32 %inverse
}

define internal $i32 @unit.rsqrt($i32 %x) alwaysinline {
  %half = call $i32 @half_exponent($i32 %x)
  %power = sub $i32 zeroinitializer, %half
  %significand = call $i32 @inverse_root($i32 %x)
  %root = call $i32 @scaled($i32 %significand, $i32 %power)
  %y = call $i32 @of_positive($i32 %x, $i32 %root, $i32 #i32:0x7f800000, $i32 zeroinitializer)
  ret $i32 %y
}

; 2 to the power of what stands behind the point.
define internal $i32 @fraction_power($i32 %argument) alwaysinline {
  %low = and $i32 %argument, #i32:0x7fffff
  %segment = lshr $i32 %low, #i32:17
  %distance = and $i32 %low, #i32:0x1ffff
  %value = call $i64 @value(ptr @ex2.rows, $i32 %segment, $i32 %distance, $i32 #i32:0, $i64 #i64:ex2.bias, $i64 #i64:13, $i64 #i64:0, i1 false, i1 true)
  %float = call $i32 @significand($i64 %value, $i64 #i64:15, $i32 #i32:0x3f000000)
  ret $i32 %float
}

define internal $i32 @unit.ex2($i32 %x) alwaysinline {
  %mantissa = and $i32 %x, #i32:0x7fffff
  %magnitude = or $i32 %mantissa, #i32:0x800000
  %exponent = call $i32 @exponent($i32 %x)
  %large = icmp sgt $i32 %exponent, #i32:133
  %right = sub $i32 #i32:133, %exponent
  %right.low = icmp slt $i32 %right, zeroinitializer
  %right.up = select $i1 %right.low, $i32 zeroinitializer, $i32 %right
  %right.high = icmp sgt $i32 %right.up, #i32:31
  %by = select $i1 %right.high, $i32 #i32:31, $i32 %right.up
  %up = shl $i32 %magnitude, #i32:6
  %fixed = lshr $i32 %up, %by
  %fraction.bits = and $i32 %fixed, #i32:0x7fffff
  %whole = icmp eq $i32 %fraction.bits, zeroinitializer
  %negative = sub $i32 zeroinitializer, %fixed
  %inverted = xor $i32 %fixed, #i32:0xffffffff
  %negated = select $i1 %whole, $i32 %negative, $i32 %inverted
  %signs = icmp slt $i32 %x, zeroinitializer
  %argument = select $i1 %signs, $i32 %negated, $i32 %fixed
  %float = call $i32 @fraction_power($i32 %argument)
  %power = ashr $i32 %argument, #i32:23
  %finite = call $i32 @scaled($i32 %float, $i32 %power)
  %far = select $i1 %signs, $i32 zeroinitializer, $i32 #i32:0x7f800000
  %number = select $i1 %large, $i32 %far, $i32 %finite
  %y = call $i32 @unless_nan($i32 %x, $i32 %number)
  ret $i32 %y
}

; Of positive numbers.
define internal $i32 @logarithm($i32 %x) alwaysinline {
  %mantissa = and $i32 %x, #i32:0x7fffff
  %segment = lshr $i32 %mantissa, #i32:17
  %distance = and $i32 %mantissa, #i32:0x1ffff
  %value = call $i64 @value(ptr @lg2.rows, $i32 %segment, $i32 %distance, $i32 #i32:0, $i64 #i64:lg2.bias, $i64 #i64:12, $i64 #i64:1, i1 false, i1 false)
  %fraction = lshr $i64 %value, #i64:2
  %biased = call $i32 @exponent($i32 %x)
  %exponent = sub $i32 %biased, #i32:127
  %wide = sext $i32 %exponent to $i64
  %whole = shl $i64 %wide, #i64:36
  %sum = add $i64 %whole, %fraction
  %negative = icmp slt $i64 %sum, zeroinitializer
  %inverted = xor $i64 %sum, #i64:-1
  %positive.sum = select $i1 %negative, $i64 %inverted, $i64 %sum
  %float = call $i32 @to_float($i64 %positive.sum, $i32 #i32:0xd2000000)
  %sign = select $i1 %negative, $i32 #i32:0x80000000, $i32 zeroinitializer
  %signed = or $i32 %float, %sign
  %one = icmp eq $i32 %x, #i32:0x3f800000
  %finite = select $i1 %one, $i32 zeroinitializer, $i32 %signed
  ret $i32 %finite
}

define internal $i32 @unit.lg2($i32 %x) alwaysinline {
  %magnitude = and $i32 %x, #i32:0x7fffffff
  %finite = call $i32 @logarithm($i32 %x)
  %infinite = icmp eq $i32 %x, #i32:0x7f800000
  %number = select $i1 %infinite, $i32 %x, $i32 %finite
  %tiny = icmp ult $i32 %magnitude, #i32:0x800000
  %defined = select $i1 %tiny, $i32 #i32:0xff800000, $i32 %number
  %nan = icmp ugt $i32 %magnitude, #i32:0x7f800000
  %below = icmp ugt $i32 %x, #i32:0x807fffff
  %invalid = or $i1 %nan, %below
  %y = select $i1 %invalid, $i32 #i32:0x7fffffff, $i32 %defined
  ret $i32 %y
}

define internal $i32 @clamp31($i32 %x) alwaysinline {
  %low = icmp slt $i32 %x, zeroinitializer
  %up = select $i1 %low, $i32 zeroinitializer, $i32 %x
  %high = icmp sgt $i32 %up, #i32:31
  %y = select $i1 %high, $i32 #i32:31, $i32 %up
  ret $i32 %y
}

; The sine of so many quarter turns, with 23 bits behind the point.
define internal $i32 @sine_of_quarters($i32 %quarters, $i32 %sign, $i32 %quarters_more) alwaysinline {
  %turned = lshr $i32 %quarters, #i32:23
  %quadrant = add $i32 %turned, %quarters_more
  %odd = and $i32 %quadrant, #i32:1
  %rises = icmp eq $i32 %odd, zeroinitializer
  %inverted = xor $i32 %quarters, #i32:0xffffffff
  %chosen = select $i1 %rises, $i32 %quarters, $i32 %inverted
  %argument = and $i32 %chosen, #i32:0x7fffff
  %segment = lshr $i32 %argument, #i32:17
  %distance = and $i32 %argument, #i32:0x1ffff
  %value = call $i64 @value(ptr @sin.rows, $i32 %segment, $i32 %distance, $i32 #i32:0, $i64 #i64:sin.bias, $i64 #i64:11, $i64 #i64:0, i1 false, i1 false)
  %float = call $i32 @to_float($i64 %value, $i32 #i32:0xd2800000)
  %below = and $i32 %quadrant, #i32:2
  %flips = shl $i32 %below, #i32:30
  %signs = xor $i32 %sign, %flips
  %signed = or $i32 %float, %signs
  ret $i32 %signed
}

define internal $i32 @unit.sine($i32 %x, $i32 %sign, $i32 %quarters_more) alwaysinline {
  %mantissa = and $i32 %x, #i32:0x7fffff
  %hidden = or $i32 %mantissa, #i32:0x800000
  %absolute = and $i32 %x, #i32:0x7fffffff
  %tiny = icmp ult $i32 %absolute, #i32:0x800000
  %magnitude = select $i1 %tiny, $i32 zeroinitializer, $i32 %hidden
  %exponent = call $i32 @exponent($i32 %x)
  %shift = sub $i32 %exponent, #i32:125
  %left = call $i32 @clamp31($i32 %shift)
  %back = sub $i32 zeroinitializer, %shift
  %right = call $i32 @clamp31($i32 %back)
  %up = shl $i32 %magnitude, %left
  %quarters = lshr $i32 %up, %right
  %signed = call $i32 @sine_of_quarters($i32 %quarters, $i32 %sign, $i32 %quarters_more)
  %exponents = and $i32 %x, #i32:0x7f800000
  %unbounded = icmp eq $i32 %exponents, #i32:0x7f800000
  %y = select $i1 %unbounded, $i32 #i32:0x7fffffff, $i32 %signed
  ret $i32 %y
}

; Ordinary cases.
define internal $i32 @ordinary.rcp($i32 %x) alwaysinline {
  %sign = and $i32 %x, #i32:0x80000000
  %inverse = call $i32 @inverse($i32 %x)
  %power = and $i32 %x, #i32:0x7f800000
  %less = sub $i32 #i32:0x3f800000, %power
  %magnitude = add $i32 %inverse, %less
  %y = or $i32 %sign, %magnitude
  ret $i32 %y
}

define internal i1 @is_ordinary.rcp($i32 %x) alwaysinline {
  %magnitude = and $i32 %x, #i32:0x7fffffff
  %y = call i1 @between($i32 %magnitude, $i32 #i32:0x800000, $i32 #i32:0x7e000000)
  ret i1 %y
}

define internal i1 @is_ordinary.root($i32 %x) alwaysinline {
  %y = call i1 @between($i32 %x, $i32 #i32:0x800000, $i32 #i32:0x7f000000)
  ret i1 %y
}

define internal $i32 @ordinary.sqrt($i32 %x) alwaysinline {
  %half = call $i32 @half_exponent($i32 %x)
  %root = call $i32 @root($i32 %x)
  %power = shl $i32 %half, #i32:23
  %y = add $i32 %root, %power
  ret $i32 %y
}

define internal $i32 @ordinary.rsqrt($i32 %x) alwaysinline {
  %half = call $i32 @half_exponent($i32 %x)
  %root = call $i32 @inverse_root($i32 %x)
  %power = shl $i32 %half, #i32:23
  %y = sub $i32 %root, %power
  ret $i32 %y
}

; Of magnitudes below 126.
define internal i1 @is_ordinary.ex2($i32 %x) alwaysinline {
  %magnitude = and $i32 %x, #i32:0x7fffffff
  %y = call i1 @between($i32 %magnitude, $i32 zeroinitializer, $i32 #i32:0x42fc0000)
  ret i1 %y
}

define internal $i32 @ordinary.ex2($i32 %x) alwaysinline {
  %magnitude = and $i32 %x, #i32:0x7fffffff
  %number = bitcast $i32 %magnitude to $f32
  %up = fmul $f32 %number, #f32:8388608.0
  %fixed = fptosi $f32 %up to $i32
  %signs = ashr $i32 %x, #i32:31
  %inverted = xor $i32 %fixed, %signs
  %fraction.bits = and $i32 %fixed, #i32:0x7fffff
  %whole = icmp eq $i32 %fraction.bits, zeroinitializer
  %one = select $i1 %whole, $i32 %signs, $i32 zeroinitializer
  %argument = sub $i32 %inverted, %one
  %float = call $i32 @fraction_power($i32 %argument)
  %power = and $i32 %argument, #i32:0xff800000
  %y = add $i32 %float, %power
  ret $i32 %y
}

; Of magnitudes below 128: some 20 turns.
define internal i1 @is_ordinary.sine($i32 %x) alwaysinline {
  %magnitude = and $i32 %x, #i32:0x7fffffff
  %y = call i1 @between($i32 %magnitude, $i32 zeroinitializer, $i32 #i32:0x43000000)
  ret i1 %y
}

; The turns as `turns` has them: what the product lacks or has too much is exact as a float, unless the product is so small that its
; sine is a zero.
define internal $i32 @ordinary.sine($i32 %x, $i32 %signs, $i32 %quarters_more) alwaysinline {
  %number = bitcast $i32 %x to $f32
  %near = fmul $f32 %number, #f32:0x3fc45f3060000000
  %opposite = fneg $f32 %near
  %lacks = call $f32 @llvm.fma.v$nf32($f32 %number, $f32 #f32:0x3fc45f3060000000, $f32 %opposite)
  %bits = bitcast $f32 %near to $i32
  %lacks.bits = bitcast $f32 %lacks to $i32
  %apart = xor $i32 %bits, %lacks.bits
  %beyond = lshr $i32 %apart, #i32:31
  %inexact = fcmp one $f32 %lacks, zeroinitializer
  %less = select $i1 %inexact, $i32 %beyond, $i32 zeroinitializer
  %turns = sub $i32 %bits, %less
  %magnitude = and $i32 %turns, #i32:0x7fffffff
  %absolute = bitcast $i32 %magnitude to $f32
  %up = fmul $f32 %absolute, #f32:33554432.0
  %quarters = fptosi $f32 %up to $i32
  %sign = and $i32 %turns, %signs
  %y = call $i32 @sine_of_quarters($i32 %quarters, $i32 %sign, $i32 %quarters_more)
  ret $i32 %y
}

; numerics::special: what stands around the unit.
define internal $i32 @rcp.ftz($i32 %x) noinline {
  %ordinary = call i1 @is_ordinary.rcp($i32 %x)
  br i1 %ordinary, label %fast, label %slow, !prof !0
fast:
  %quick = call $i32 @ordinary.rcp($i32 %x)
  ret $i32 %quick
slow:
  %y = call $i32 @rcp.ftz.any($i32 %x)
  ret $i32 %y
}

define internal $i32 @rcp.ftz.any($i32 %x) noinline cold {
  %y = call $i32 @unit.rcp($i32 %x)
  ret $i32 %y
}

define internal $i32 @rcp($i32 %x) noinline {
  %ordinary = call i1 @is_ordinary.rcp($i32 %x)
  br i1 %ordinary, label %fast, label %slow, !prof !0
fast:
  %quick = call $i32 @ordinary.rcp($i32 %x)
  ret $i32 %quick
slow:
  %y = call $i32 @rcp.any($i32 %x)
  ret $i32 %y
}

define internal $i32 @rcp.any($i32 %x) noinline cold {
  %magnitude = and $i32 %x, #i32:0x7fffffff
  %tiny = icmp ult $i32 %magnitude, #i32:0x800000
  %up = select $i1 %tiny, $i32 #i32:0x4b800000, $i32 #i32:0x3f800000
  %above = icmp ugt $i32 %magnitude, #i32:0x7e800000
  %number = icmp ule $i32 %magnitude, #i32:0x7f800000
  %huge = and $i1 %above, %number
  %factor = select $i1 %huge, $i32 #i32:0x3e800000, $i32 %up
  %operand = call $i32 @mul($i32 %x, $i32 %factor)
  %inverse = call $i32 @unit.rcp($i32 %operand)
  %scaled = call $i32 @mul($i32 %inverse, $i32 %factor)
  %y = call $i32 @canonical($i32 %scaled)
  ret $i32 %y
}

; An operand below the normal range, scaled up by 2^24.
define internal $i32 @lifted($i32 %x) alwaysinline {
  %magnitude = and $i32 %x, #i32:0x7fffffff
  %tiny = icmp ult $i32 %magnitude, #i32:0x800000
  %scaled = call $i32 @mul($i32 %x, $i32 #i32:0x4b800000)
  %y = select $i1 %tiny, $i32 %scaled, $i32 %x
  ret $i32 %y
}

; The second where an operand is below the normal range, else the first.
define internal $i32 @if_lifted($i32 %x, $i32 %plain, $i32 %scaled) alwaysinline {
  %magnitude = and $i32 %x, #i32:0x7fffffff
  %tiny = icmp ult $i32 %magnitude, #i32:0x800000
  %chosen = call $i32 @canonical($i32 %scaled)
  %y = select $i1 %tiny, $i32 %chosen, $i32 %plain
  ret $i32 %y
}

define internal $i32 @sqrt.ftz($i32 %x) noinline {
  %ordinary = call i1 @is_ordinary.root($i32 %x)
  br i1 %ordinary, label %fast, label %slow, !prof !0
fast:
  %quick = call $i32 @ordinary.sqrt($i32 %x)
  ret $i32 %quick
slow:
  %y = call $i32 @sqrt.ftz.any($i32 %x)
  ret $i32 %y
}

define internal $i32 @sqrt.ftz.any($i32 %x) noinline cold {
  %y = call $i32 @unit.sqrt($i32 %x)
  ret $i32 %y
}

define internal $i32 @sqrt($i32 %x) noinline {
  %ordinary = call i1 @is_ordinary.root($i32 %x)
  br i1 %ordinary, label %fast, label %slow, !prof !0
fast:
  %quick = call $i32 @ordinary.sqrt($i32 %x)
  ret $i32 %quick
slow:
  %y = call $i32 @sqrt.any($i32 %x)
  ret $i32 %y
}

define internal $i32 @sqrt.any($i32 %x) noinline cold {
  %operand = call $i32 @lifted($i32 %x)
  %root = call $i32 @unit.sqrt($i32 %operand)
  %scaled = call $i32 @mul($i32 %root, $i32 #i32:0x39800000)
  %y = call $i32 @if_lifted($i32 %x, $i32 %root, $i32 %scaled)
  ret $i32 %y
}

define internal $i32 @rsqrt.ftz($i32 %x) noinline {
  %ordinary = call i1 @is_ordinary.root($i32 %x)
  br i1 %ordinary, label %fast, label %slow, !prof !0
fast:
  %quick = call $i32 @ordinary.rsqrt($i32 %x)
  ret $i32 %quick
slow:
  %y = call $i32 @rsqrt.ftz.any($i32 %x)
  ret $i32 %y
}

define internal $i32 @rsqrt.ftz.any($i32 %x) noinline cold {
  %y = call $i32 @unit.rsqrt($i32 %x)
  ret $i32 %y
}

define internal $i32 @rsqrt($i32 %x) noinline {
  %ordinary = call i1 @is_ordinary.root($i32 %x)
  br i1 %ordinary, label %fast, label %slow, !prof !0
fast:
  %quick = call $i32 @ordinary.rsqrt($i32 %x)
  ret $i32 %quick
slow:
  %y = call $i32 @rsqrt.any($i32 %x)
  ret $i32 %y
}

define internal $i32 @rsqrt.any($i32 %x) noinline cold {
  %operand = call $i32 @lifted($i32 %x)
  %root = call $i32 @unit.rsqrt($i32 %operand)
  %scaled = call $i32 @mul($i32 %root, $i32 #i32:0x45800000)
  %y = call $i32 @if_lifted($i32 %x, $i32 %root, $i32 %scaled)
  ret $i32 %y
}

define internal $i32 @lg2.ftz($i32 %x) noinline {
  %ordinary = call i1 @is_ordinary.root($i32 %x)
  br i1 %ordinary, label %fast, label %slow, !prof !0
fast:
  %quick = call $i32 @logarithm($i32 %x)
  ret $i32 %quick
slow:
  %y = call $i32 @lg2.ftz.any($i32 %x)
  ret $i32 %y
}

define internal $i32 @lg2.ftz.any($i32 %x) noinline cold {
  %y = call $i32 @unit.lg2($i32 %x)
  ret $i32 %y
}

define internal $i32 @lg2($i32 %x) noinline {
  %ordinary = call i1 @is_ordinary.root($i32 %x)
  br i1 %ordinary, label %fast, label %slow, !prof !0
fast:
  %quick = call $i32 @logarithm($i32 %x)
  ret $i32 %quick
slow:
  %y = call $i32 @lg2.any($i32 %x)
  ret $i32 %y
}

define internal $i32 @lg2.any($i32 %x) noinline cold {
  %operand = call $i32 @lifted($i32 %x)
  %log = call $i32 @unit.lg2($i32 %operand)
  %less = call $i32 @add($i32 %log, $i32 #i32:0xc1c00000)
  %y = call $i32 @if_lifted($i32 %x, $i32 %log, $i32 %less)
  ret $i32 %y
}

define internal $i32 @ex2.ftz($i32 %x) noinline {
  %ordinary = call i1 @is_ordinary.ex2($i32 %x)
  br i1 %ordinary, label %fast, label %slow, !prof !0
fast:
  %quick = call $i32 @ordinary.ex2($i32 %x)
  ret $i32 %quick
slow:
  %y = call $i32 @ex2.ftz.any($i32 %x)
  ret $i32 %y
}

define internal $i32 @ex2.ftz.any($i32 %x) noinline cold {
  %y = call $i32 @unit.ex2($i32 %x)
  ret $i32 %y
}

define internal $i32 @ex2($i32 %x) noinline {
  %ordinary = call i1 @is_ordinary.ex2($i32 %x)
  br i1 %ordinary, label %fast, label %slow, !prof !0
fast:
  %quick = call $i32 @ordinary.ex2($i32 %x)
  ret $i32 %quick
slow:
  %y = call $i32 @ex2.any($i32 %x)
  ret $i32 %y
}

define internal $i32 @ex2.any($i32 %x) noinline cold {
  %number = bitcast $i32 %x to $f32
  %low = fcmp olt $f32 %number, #f32:-126.0
  %halved = call $i32 @mul($i32 %x, $i32 #i32:0x3f000000)
  %operand = select $i1 %low, $i32 %halved, $i32 %x
  %power = call $i32 @unit.ex2($i32 %operand)
  %square = call $i32 @mul($i32 %power, $i32 %power)
  %y = select $i1 %low, $i32 %square, $i32 %power
  ret $i32 %y
}

; An angle as a number of turns: the product cut off towards zero.
define internal $i32 @turns($i32 %x) alwaysinline {
  %number = bitcast $i32 %x to $f32
  %wide = fpext $f32 %number to $f64
  %per_turn = fmul $f64 %wide, #f64:0x3fc45f3060000000
  %near = fptrunc $f64 %per_turn to $f32
  %near.wide = fpext $f32 %near to $f64
  %bits = bitcast $f32 %near to $i32
  %product = bitcast $f64 %per_turn to $i64
  %product.magnitude = and $i64 %product, #i64:0x7fffffffffffffff
  %near.bits = bitcast $f64 %near.wide to $i64
  %near.magnitude = and $i64 %near.bits, #i64:0x7fffffffffffffff
  %beyond = icmp ugt $i64 %near.magnitude, %product.magnitude
  %less = zext $i1 %beyond to $i32
  %cut = sub $i32 %bits, %less
  %y = call $i32 @unless_nan($i32 %x, $i32 %cut)
  ret $i32 %y
}

define internal $i32 @sin($i32 %x) noinline {
  %ordinary = call i1 @is_ordinary.sine($i32 %x)
  br i1 %ordinary, label %fast, label %slow, !prof !0
fast:
  %quick = call $i32 @ordinary.sine($i32 %x, $i32 #i32:0x80000000, $i32 zeroinitializer)
  ret $i32 %quick
slow:
  %y = call $i32 @sin.any($i32 %x)
  ret $i32 %y
}

define internal $i32 @sin.any($i32 %x) noinline cold {
  %turns = call $i32 @turns($i32 %x)
  %sign = and $i32 %turns, #i32:0x80000000
  %y = call $i32 @unit.sine($i32 %turns, $i32 %sign, $i32 zeroinitializer)
  ret $i32 %y
}

define internal $i32 @cos($i32 %x) noinline {
  %ordinary = call i1 @is_ordinary.sine($i32 %x)
  br i1 %ordinary, label %fast, label %slow, !prof !0
fast:
  %quick = call $i32 @ordinary.sine($i32 %x, $i32 zeroinitializer, $i32 #i32:1)
  ret $i32 %quick
slow:
  %y = call $i32 @cos.any($i32 %x)
  ret $i32 %y
}

define internal $i32 @cos.any($i32 %x) noinline cold {
  %turns = call $i32 @turns($i32 %x)
  %y = call $i32 @unit.sine($i32 %turns, $i32 zeroinitializer, $i32 #i32:1)
  ret $i32 %y
}

define internal $i32 @div.approx.ftz($i32 %a, $i32 %b) noinline {
  %ordinary = call i1 @is_ordinary.rcp($i32 %b)
  br i1 %ordinary, label %fast, label %slow, !prof !0
fast:
  %inverse = call $i32 @ordinary.rcp($i32 %b)
  %product = call $i32 @mul.ftz($i32 %inverse, $i32 %a)
  %quick = call $i32 @canonical($i32 %product)
  ret $i32 %quick
slow:
  %y = call $i32 @div.approx.ftz.any($i32 %a, $i32 %b)
  ret $i32 %y
}

define internal $i32 @div.approx.ftz.any($i32 %a, $i32 %b) noinline cold {
  %inverse = call $i32 @unit.rcp($i32 %b)
  %product = call $i32 @mul.ftz($i32 %inverse, $i32 %a)
  %y = call $i32 @canonical($i32 %product)
  ret $i32 %y
}

define internal $i32 @div.approx($i32 %a, $i32 %b) noinline {
  %ordinary = call i1 @is_ordinary.rcp($i32 %b)
  br i1 %ordinary, label %fast, label %slow, !prof !0
fast:
  %inverse = call $i32 @ordinary.rcp($i32 %b)
  %product = call $i32 @mul($i32 %inverse, $i32 %a)
  %quick = call $i32 @canonical($i32 %product)
  ret $i32 %quick
slow:
  %y = call $i32 @div.approx.any($i32 %a, $i32 %b)
  ret $i32 %y
}

define internal $i32 @div.approx.any($i32 %a, $i32 %b) noinline cold {
  %magnitude = and $i32 %b, #i32:0x7fffffff
  %tiny = icmp ult $i32 %magnitude, #i32:0x800000
  %up.a = call $i32 @mul($i32 %a, $i32 #i32:0x4b800000)
  %up.b = call $i32 @mul($i32 %b, $i32 #i32:0x4b800000)
  %x = select $i1 %tiny, $i32 %up.a, $i32 %a
  %by = select $i1 %tiny, $i32 %up.b, $i32 %b
  %inverse = call $i32 @unit.rcp($i32 %by)
  %product = call $i32 @mul($i32 %inverse, $i32 %x)
  %y = call $i32 @canonical($i32 %product)
  ret $i32 %y
}

define internal $i1 @is_huge($i32 %x) alwaysinline {
  %magnitude = and $i32 %x, #i32:0x7fffffff
  %above = icmp ugt $i32 %magnitude, #i32:0x7e800000
  %number = icmp ule $i32 %magnitude, #i32:0x7f800000
  %y = and $i1 %above, %number
  ret $i1 %y
}

define internal $i32 @div.full.ftz($i32 %a, $i32 %b) noinline {
  %ordinary = call i1 @is_ordinary.rcp($i32 %b)
  br i1 %ordinary, label %fast, label %slow, !prof !0
fast:
  %inverse = call $i32 @ordinary.rcp($i32 %b)
  %product = call $i32 @mul.ftz($i32 %inverse, $i32 %a)
  %quick = call $i32 @canonical($i32 %product)
  ret $i32 %quick
slow:
  %y = call $i32 @div.full.ftz.any($i32 %a, $i32 %b)
  ret $i32 %y
}

define internal $i32 @div.full.ftz.any($i32 %a, $i32 %b) noinline cold {
  %huge = call $i1 @is_huge($i32 %b)
  %down.a = call $i32 @mul.ftz($i32 %a, $i32 #i32:0x3e800000)
  %down.b = call $i32 @mul.ftz($i32 %b, $i32 #i32:0x3e800000)
  %x = select $i1 %huge, $i32 %down.a, $i32 %a
  %by = select $i1 %huge, $i32 %down.b, $i32 %b
  %y = call $i32 @div.approx.ftz($i32 %x, $i32 %by)
  ret $i32 %y
}

define internal $i32 @div.full($i32 %a, $i32 %b) noinline {
  %ordinary = call i1 @is_ordinary.rcp($i32 %b)
  br i1 %ordinary, label %fast, label %slow, !prof !0
fast:
  %inverse = call $i32 @ordinary.rcp($i32 %b)
  %product = call $i32 @mul($i32 %inverse, $i32 %a)
  %quick = call $i32 @canonical($i32 %product)
  ret $i32 %quick
slow:
  %y = call $i32 @div.full.any($i32 %a, $i32 %b)
  ret $i32 %y
}

define internal $i32 @div.full.any($i32 %a, $i32 %b) noinline cold {
  %huge = call $i1 @is_huge($i32 %b)
  %down.a = call $i32 @mul($i32 %a, $i32 #i32:0x3e800000)
  %down.b = call $i32 @mul($i32 %b, $i32 #i32:0x3e800000)
  %x = select $i1 %huge, $i32 %down.a, $i32 %a
  %by = select $i1 %huge, $i32 %down.b, $i32 %b
  %y = call $i32 @div.approx($i32 %x, $i32 %by)
  ret $i32 %y
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
