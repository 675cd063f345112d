#!/usr/bin/env node
// What a script may have between a function and its name, or a place: a reader of JavaScript must tell these apart.
var a = function (b) { return b / 2 / 3; }, c = b => b ? d => d / 1 : e => { return /[/"'`{]/.test(e) };
function f(g = (h, i = { j() { return `a${`b${(k => `{${k}}`)(1)}`}c` } }) => i.j(h)) { return g(1) }
class l extends (class m { n() {} }) { static #o = () => 1; p = async q => { await q }; static { l.r = function () {} } get s() { return 1 } set s(v) {} *t() {} async *u() {} constructor() { super(() => 1) } if() { } "v"() {} [`w${1}`]() {} #x() {} static async y() {} z }
class A { a = 1
  b = x => x
  c() { return 1 } }
const B = { if: function () {}, class: 1, async C() {}, get D() { return 1 }, async E() {}, F: async (a, b) => a + b, async G(a) {}, H: a => b => a ? b : 1, [1 + 1]() {}, "i": () => {}, 2() {}, J: a ? function K() {} : () => {} };
label: for (const a of [1]) { if (a) /}/.test("}"); else do { try { throw a } catch { continue label } finally { } } while (0) }
switch (a) { case 1: { (() => {})(); break } case 2 ? () => 3 : 4: default: { let b = { c: () => 1 } } }
var L = async function M() { for await (const a of b()) c(a) }, N = async () => ({ a: () => 1 }), O = (a, { b, c: [d = () => 1] }) => a++ / b-- / d
var P = class { Q = 1; static R = () => 2 }, S = (function () { return 1 }), T = (a => a)
a.U = function () {}; a.b.V = () => { /* } */ return "\"}" + '\'' + `\`${1}` }; a[1] = () => {}; a ??= () => {}
if (a) function W() {} else while (b) (() => c)()
export default function () {}
export const X = a => a?.b ?? (c => c?.[1]) ?? a ? .5 : 1.5.toFixed, \u0059 = () => 1, größe = (ä) => { return ä }, $ = async(a), Z = async (a) => a
new class { a() { return new.target, import.meta, typeof function () {} / 2 } }().a(...[() => 1])
function* aa() { yield /a/g; yield* b() / 2; return void (() => 1) }
x = y
++z; var ab = a => a
var ac = a => {
  return a }
