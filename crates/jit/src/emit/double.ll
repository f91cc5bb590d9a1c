; Functions for a row on `.f64`, and those on `.f32` that go through it: as `functions.ll`.

; numerics::float::neg_f64
define internal $i64 @neg.f64($i64 %a) alwaysinline {
  %number = bitcast $i64 %a to $f64
  %nan = fcmp uno $f64 %number, %number
  %quiet = or $i64 %a, #i64:0x0008000000000000
  %flipped = xor $i64 %a, #i64:0x8000000000000000
  %y = select $i1 %nan, $i64 %quiet, $i64 %flipped
  ret $i64 %y
}

; numerics::float::abs_f64
define internal $i64 @abs.f64($i64 %a) alwaysinline {
  %number = bitcast $i64 %a to $f64
  %nan = fcmp uno $f64 %number, %number
  %quiet = or $i64 %a, #i64:0x0008000000000000
  %cleared = and $i64 %a, #i64:0x7fffffffffffffff
  %y = select $i1 %nan, $i64 %quiet, $i64 %cleared
  ret $i64 %y
}

; numerics::float::order_f64
define internal $i64 @order.f64($i64 %a) alwaysinline {
  %sign = ashr $i64 %a, #i64:63
  %flips = lshr $i64 %sign, #i64:1
  %y = xor $i64 %a, %flips
  ret $i64 %y
}

; numerics::float::choose_f64
define internal $i64 @choose.f64($i64 %a, $i64 %b, $i1 %wins) alwaysinline {
  %x = bitcast $i64 %a to $f64
  %y = bitcast $i64 %b to $f64
  %a.none = fcmp uno $f64 %x, %x
  %b.none = fcmp uno $f64 %y, %y
  %a.number = xor $i1 %a.none, #i1:true
  %first = and $i1 %wins, %a.number
  %takes = or $i1 %first, %b.none
  %number = select $i1 %takes, $i64 %a, $i64 %b
  %both = and $i1 %a.none, %b.none
  %quiet = or $i64 %b, #i64:0x0008000000000000
  %z = select $i1 %both, $i64 %quiet, $i64 %number
  ret $i64 %z
}

; numerics::float::min_f64
define internal $i64 @min.f64($i64 %a, $i64 %b) alwaysinline {
  %x = call $i64 @order.f64($i64 %a)
  %y = call $i64 @order.f64($i64 %b)
  %wins = icmp slt $i64 %x, %y
  %z = call $i64 @choose.f64($i64 %a, $i64 %b, $i1 %wins)
  ret $i64 %z
}

; numerics::float::max_f64
define internal $i64 @max.f64($i64 %a, $i64 %b) alwaysinline {
  %x = call $i64 @order.f64($i64 %a)
  %y = call $i64 @order.f64($i64 %b)
  %wins = icmp sgt $i64 %x, %y
  %z = call $i64 @choose.f64($i64 %a, $i64 %b, $i1 %wins)
  ret $i64 %z
}

; numerics::convert::f64_to_f32, to nearest: a NaN keeps its sign and the upper bits of its payload.
define internal $i32 @narrow.f64($i64 %a) alwaysinline {
  %x = bitcast $i64 %a to $f64
  %y = fptrunc $f64 %x to $f32
  %number = bitcast $f32 %y to $i32
  %nan = fcmp uno $f64 %x, %x
  %high = lshr $i64 %a, #i64:29
  %low = trunc $i64 %high to $i32
  %payload = and $i32 %low, #i32:0x7fffffff
  %top = lshr $i64 %a, #i64:32
  %word = trunc $i64 %top to $i32
  %sign = and $i32 %word, #i32:0x80000000
  %signed = or $i32 %payload, %sign
  %quiet = or $i32 %signed, #i32:0x00400000
  %z = select $i1 %nan, $i32 %quiet, $i32 %number
  ret $i32 %z
}

; numerics::convert::f32_to_f64: a NaN keeps its sign and payload.
define internal $i64 @widen.f32($i32 %a) alwaysinline {
  %x = bitcast $i32 %a to $f32
  %y = fpext $f32 %x to $f64
  %number = bitcast $f64 %y to $i64
  %nan = fcmp uno $f32 %x, %x
  %wide = zext $i32 %a to $i64
  %fraction = and $i64 %wide, #i64:0x00000000007fffff
  %payload = shl $i64 %fraction, #i64:29
  %bit = and $i64 %wide, #i64:0x0000000080000000
  %sign = shl $i64 %bit, #i64:32
  %signed = or $i64 %payload, %sign
  %quiet = or $i64 %signed, #i64:0x7ff8000000000000
  %z = select $i1 %nan, $i64 %quiet, $i64 %number
  ret $i64 %z
}

; The greatest `.f32` that is not above a sum of `s` and the much smaller `e`. What is nearest to `s` is one step too far if it is above, or
; is `s` and the sum is less.
define internal $i32 @round.down($f64 %s, $f64 %e) alwaysinline {
  %nearest = fptrunc $f64 %s to $f32
  %bits = bitcast $f32 %nearest to $i32
  %wide = fpext $f32 %nearest to $f64
  %above = fcmp ogt $f64 %wide, %s
  %same = fcmp oeq $f64 %wide, %s
  %less = fcmp olt $f64 %e, zeroinitializer
  %just = and $i1 %same, %less
  %steps = or $i1 %above, %just
  %negative = icmp slt $i32 %bits, zeroinitializer
  %greater = add $i32 %bits, #i32:1
  %smaller = sub $i32 %bits, #i32:1
  %next = select $i1 %negative, $i32 %greater, $i32 %smaller
  %magnitude = and $i32 %bits, #i32:0x7fffffff
  %zero = icmp eq $i32 %magnitude, zeroinitializer
  %below = select $i1 %zero, $i32 #i32:0x80000001, $i32 %next
  %y = select $i1 %steps, $i32 %below, $i32 %bits
  ret $i32 %y
}

; The least that is not below.
define internal $i32 @round.up($f64 %s, $f64 %e) alwaysinline {
  %s.negated = fneg $f64 %s
  %e.negated = fneg $f64 %e
  %x = call $i32 @round.down($f64 %s.negated, $f64 %e.negated)
  %y = xor $i32 %x, #i32:0x80000000
  ret $i32 %y
}

; The nearer one to zero of both.
define internal $i32 @round.zero($f64 %s, $f64 %e) alwaysinline {
  %bits = bitcast $f64 %s to $i64
  %negative = icmp slt $i64 %bits, zeroinitializer
  %down = call $i32 @round.down($f64 %s, $f64 %e)
  %up = call $i32 @round.up($f64 %s, $f64 %e)
  %y = select $i1 %negative, $i32 %up, $i32 %down
  ret $i32 %y
}

; What a sum is off that was rounded to nearest (Knuth).
define internal $f64 @off($f64 %a, $f64 %b, $f64 %sum) alwaysinline {
  %b.virtual = fsub $f64 %sum, %a
  %a.virtual = fsub $f64 %sum, %b.virtual
  %a.off = fsub $f64 %a, %a.virtual
  %b.off = fsub $f64 %b, %b.virtual
  %off = fadd $f64 %a.off, %b.off
  ret $f64 %off
}

define internal $f64 @wide($i32 %a) alwaysinline {
  %x = bitcast $i32 %a to $f32
  %y = fpext $f32 %x to $f64
  ret $f64 %y
}

; The exact product of two `.f32`.
define internal $f64 @product($i32 %a, $i32 %b) alwaysinline {
  %x = call $f64 @wide($i32 %a)
  %y = call $f64 @wide($i32 %b)
  %product = fmul $f64 %x, %y
  ret $f64 %product
}

; `fma` with a directed rounding. With `.rm` a sum that is zero is -0 unless both parts are +0.
define internal $i32 @fma.rm($i32 %a, $i32 %b, $i32 %c) noinline {
  %product = call $f64 @product($i32 %a, $i32 %b)
  %addend = call $f64 @wide($i32 %c)
  %sum = fadd $f64 %product, %addend
  %off = call $f64 @off($f64 %product, $f64 %addend, $f64 %sum)
  %rounded = call $i32 @round.down($f64 %sum, $f64 %off)
  %zero = fcmp oeq $f64 %sum, zeroinitializer
  %signs = xor $i32 %a, %b
  %either = or $i32 %signs, %c
  %sign = and $i32 %either, #i32:0x80000000
  %result = select $i1 %zero, $i32 %sign, $i32 %rounded
  ret $i32 %result
}

define internal $i32 @fma.rp($i32 %a, $i32 %b, $i32 %c) noinline {
  %product = call $f64 @product($i32 %a, $i32 %b)
  %addend = call $f64 @wide($i32 %c)
  %sum = fadd $f64 %product, %addend
  %off = call $f64 @off($f64 %product, $f64 %addend, $f64 %sum)
  %rounded = call $i32 @round.up($f64 %sum, $f64 %off)
  ret $i32 %rounded
}

define internal $i32 @fma.rz($i32 %a, $i32 %b, $i32 %c) noinline {
  %product = call $f64 @product($i32 %a, $i32 %b)
  %addend = call $f64 @wide($i32 %c)
  %sum = fadd $f64 %product, %addend
  %off = call $f64 @off($f64 %product, $f64 %addend, $f64 %sum)
  %rounded = call $i32 @round.zero($f64 %sum, $f64 %off)
  ret $i32 %rounded
}

; `add` with a directed rounding is `fma` of one operand and 1.
define internal $i32 @add.rm($i32 %a, $i32 %b) alwaysinline {
  %y = call $i32 @fma.rm($i32 %a, $i32 #i32:0x3f800000, $i32 %b)
  ret $i32 %y
}

define internal $i32 @add.rp($i32 %a, $i32 %b) alwaysinline {
  %y = call $i32 @fma.rp($i32 %a, $i32 #i32:0x3f800000, $i32 %b)
  ret $i32 %y
}

define internal $i32 @add.rz($i32 %a, $i32 %b) alwaysinline {
  %y = call $i32 @fma.rz($i32 %a, $i32 #i32:0x3f800000, $i32 %b)
  ret $i32 %y
}

define internal $i32 @sub.rm($i32 %a, $i32 %b) alwaysinline {
  %negated = xor $i32 %b, #i32:0x80000000
  %y = call $i32 @fma.rm($i32 %a, $i32 #i32:0x3f800000, $i32 %negated)
  ret $i32 %y
}

define internal $i32 @sub.rp($i32 %a, $i32 %b) alwaysinline {
  %negated = xor $i32 %b, #i32:0x80000000
  %y = call $i32 @fma.rp($i32 %a, $i32 #i32:0x3f800000, $i32 %negated)
  ret $i32 %y
}

define internal $i32 @sub.rz($i32 %a, $i32 %b) alwaysinline {
  %negated = xor $i32 %b, #i32:0x80000000
  %y = call $i32 @fma.rz($i32 %a, $i32 #i32:0x3f800000, $i32 %negated)
  ret $i32 %y
}

define internal $i32 @mul.rm($i32 %a, $i32 %b) alwaysinline {
  %product = call $f64 @product($i32 %a, $i32 %b)
  %y = call $i32 @round.down($f64 %product, $f64 zeroinitializer)
  ret $i32 %y
}

define internal $i32 @mul.rp($i32 %a, $i32 %b) alwaysinline {
  %product = call $f64 @product($i32 %a, $i32 %b)
  %y = call $i32 @round.up($f64 %product, $f64 zeroinitializer)
  ret $i32 %y
}

define internal $i32 @mul.rz($i32 %a, $i32 %b) alwaysinline {
  %product = call $f64 @product($i32 %a, $i32 %b)
  %y = call $i32 @round.zero($f64 %product, $f64 zeroinitializer)
  ret $i32 %y
}
