package itanium

import (
	"math/rand/v2"
	"strings"
)

// grammar maps each symbol to its productions. Names in <> are symbols. The first production of each symbol leads to the end of
// a derivation.
var grammar = map[string][]string{
	"symbol": {"_Z<encoding>", "_Z<encoding>", "_Z<encoding>", "_Z<encoding>.cold", "___Z<encoding>_block_invoke<block>",
		"_Z1fI<arg>EvN<param>C1E", "_Z1fI<arg>EvN<sub>D1E", "_Z1fI<args>J<args>EEvDp<mark><param><type>",
		"_ZN1AI<args>Ecv<type>I<args>EE<type>", "_ZNKZ<encoding>E<lambda>clI<args>EEDa<type>",
		"_ZZNKZ<encoding>E<lambda>clI<args>EEDa<type>E<name>", "_Z1fIZ<encoding>E<lambda><args>E<type><type>",
		"_Z1fIXtlA3_c<char><char><char>EEEvv"},
	"block": {"", "_2", "3", "_", ".4"},
	"encoding": {"1fv", "<name>", "<name>v", "<name><type>", "<name><type><type>", "<name><type><type><type>",
		"<special>", "<name>Ua9enable_ifI<args>E<type>", "<name>vQ<expr>"},
	"special": {"TV1A", "TT<type>", "TI<type>", "TS<type>", "TA<arg>", "TC<type>4_<type>", "Th<signed>_<encoding>",
		"Tv0_<signed>_<encoding>", "Tch4_v4_n8_<encoding>", "TW<name>", "TH<name>", "GV<name>", "GR<name>_", "GR<name>A_",
		"GR<name>", "GIW1aWP1b"},
	"name": {"<id>", "<id>I<args>E", "N<cv><scope><parts>E", "N<cv><scope><parts>E", "Z<encoding>E<name><disc>",
		"Z<encoding>Es", "Z<encoding>Ed_<name>", "St<part>", "St<part>I<args>E", "<sub>I<args>E", "<part>"},
	"disc":  {"", "_1", "__12_", "_"},
	"scope": {"<id>", "St", "<sub>", "<param>", "<part>", "Dt<expr>E", "<id>I<args>E"},
	"parts": {"", "<part>", "<part>I<args>E", "<part>I<args>E<parts>", "<part><parts>", "<part>M<part>"},
	"part": {"<id>", "<id>", "L<id>", "F<id>", "W1m<id>", "<id>B3tag", "Ut_", "Ub0_", "<lambda>", "DC<id><id>E", "C1",
		"C5", "D0", "CI1<name>", "<op>", "<op>B3tag", "cv<type>", "li<id>", "v1<id>"},
	"lambda": {"UlvE_", "Ul<type>E_", "Ul<type><type>E0_", "Ul<decl><decl><type>E_", "Ul<decl>Q<expr>vQ<expr>E1_",
		"UlDpT_E_"},
	"decl":  {"Ty", "Tk<name>", "Tn<type>", "Tt<decl>E", "Tt<decl><decl>Q<expr>E", "Tp<decl>"},
	"cv":    {"", "", "K", "VK", "r", "H", "KR", "O"},
	"id":    {"1a", "1A", "3foo", "8__uuidof", "12_GLOBAL__N_1", "11objc_object", "2T_"},
	"sub":   {"S_", "S0_", "S1_", "S2_", "S3_", "S5_", "Sa", "Sb", "Ss", "Si", "So", "Sd", "SsB3tag"},
	"param": {"T_", "T_", "T0_", "T1_", "TL0__", "TL0_0_", "TL1__"},
	"mark":  {"", "R", "O", "RK", "P"},
	"args":  {"", "<arg>", "<arg><arg>", "<arg><arg><arg>", "<arg>Q<expr>"},
	"arg":   {"i", "<type>", "<type>", "<type>", "X<expr>E", "J<args>E", "<literal>", "LZ<encoding>E", "<decl><arg>"},
	"type": {"i", "<builtin>", "<builtin>", "<param>", "<param>", "<sub>", "<sub>", "<name>", "<name>", "P<type>",
		"R<type>", "O<type>", "C<type>", "G<type>", "K<type>", "rV<type>", "F<type><type>E", "KF<type>vRE", "DoF<type>vE",
		"DO<expr>EFvvOE", "Dw<type>EFvvE", "DxFYvvE", "A3_<type>", "A_<type>", "A<expr>_<type>", "M<type><type>",
		"<param>I<args>E", "<sub>I<args>E", "Ts<name>", "Te<name>", "u<id>", "u<id>I<type>E", "U<id><type>",
		"U<id>I<args>E<type>", "U11objcproto1A<type>", "Dp<type>", "Dt<expr>E", "DT<expr>E", "Dv4_<type>", "Dv2_p",
		"Dv_<type>", "Dv<expr>_<type>", "DB<expr>_", "DU8_", "Dk<name>", "DK<name>"},
	"builtin": {"v", "c", "l", "m", "y", "o", "d", "e", "z", "Dn", "Da", "Dc", "Du", "DF16_", "DF16b", "DAs", "DSDRm"},
	"signed":  {"0", "8", "n12"},
	"char":    {"Lc65E", "Li1E", "Lc34E", "Lc92E", "Lj255E", "Lc256E", "Lcn1E", "Lc0E", "Li31E", "Li97E", "Lc10E", ""},
	"literal": {"Li1E", "Lb0E", "LDnE", "Lcn3E", "Ly7E", "Lf40490fdbE", "Ld800fff0000000001E", "Le4000c90fdaa22168c235E",
		"L_Z<encoding>E", "LA3_KcE", "L<lambda>E", "L<type><signed>E"},
	"op": {"pl", "mi", "ml", "dv", "rm", "an", "or", "eo", "aS", "pL", "dV", "ls", "rs", "rS", "eq", "lt", "gt", "le",
		"ss", "aa", "oo", "cm", "ix", "cl", "pt", "pm", "ds", "dt", "nw", "da", "aw", "nt", "ng", "ad", "de", "pp", "mm",
		"co", "qu", "cv", "sz", "sc"},
	"binary": {"pl", "mi", "ml", "dv", "rm", "an", "or", "eo", "aS", "pL", "ls", "rs", "rS", "eq", "lt", "gt", "ss", "aa",
		"oo", "cm", "ix", "pt", "pm", "ds", "dt"},
	"unary": {"ad", "az", "co", "da", "gsdl", "de", "ng", "nt", "ps", "sz", "te", "pp", "pp_", "mm", "nx", "sp", "sp",
		"tw"},
	"expr": {"fp_", "Li1E", "<literal>", "<param>", "<param>", "<binary><expr><expr>", "<binary><expr><expr>",
		"<binary><expr><expr>", "<unary><expr>", "<unary><expr>", "qu<expr><expr><expr>", "cl<exprs>E", "cp<id><exprs>E",
		"gsnw<exprs>_<type>pi<exprs>E", "na_<type>E", "cv<type><expr>", "cv<type>_<exprs>E", "sc<type><expr>",
		"rc<type><expr>", "st<type>", "ti<type>", "at<type>", "fl<binary><expr>", "frpl<expr>", "fLpl<expr><expr>",
		"fR<binary><expr><expr>", "il<braced>E", "tl<type><braced>E", "tlA3_c<char><char>E", "mc<type><expr>n8E",
		"so<type><expr>8_1pE", "sZ<param>", "sZfp_", "sP<args>E", "tr", "u<id><args>E", "u8__uuidoft<type>",
		"u8__uuidofz<expr>", "rq<need>E", "rQ<type>_<need><need>E", "fL0p1_", "fpK_", "fpT", "<unresolved>", "<unresolved>"},
	"exprs":  {"", "<expr>", "<expr><expr>"},
	"braced": {"", "<expr>", "di<id><expr>", "dx<expr><expr>", "dX<expr><expr>di1a<expr>"},
	"need":   {"X<expr>", "X<expr>N", "X<expr>R<name>", "T<type>", "Q<expr>"},
	"unresolved": {"1x", "gs<id>", "sr<param><base>", "sr<sub>I<args>E<base>", "sr<id><ids>E<base>",
		"gssr<id><ids>E<base>", "srN<param><ids>E<base>", "srDt<expr>E<base>", "<base>"},
	"ids":  {"", "<id>", "<id>I<args>E", "<id><ids>"},
	"base": {"1x", "<id>I<args>E", "on<op>", "on<op>I<args>E", "dn<param>", "dn<id>", "oncv<type>"},
}

// derive returns a random name of the grammar.
func derive(r *rand.Rand) string {
	budget := 5 + r.IntN(80)
	var expand func(b *strings.Builder, symbol string)
	expand = func(b *strings.Builder, symbol string) {
		choices := grammar[symbol]
		text := choices[0]
		if budget--; budget > 0 {
			text = choices[r.IntN(len(choices))]
		}
		for {
			before, rest, found := strings.Cut(text, "<")
			b.WriteString(before)
			if !found {
				return
			}
			next, after, _ := strings.Cut(rest, ">")
			expand(b, next)
			text = after
		}
	}
	var b strings.Builder
	expand(&b, "symbol")
	return b.String()
}
