// Prints its mappings, and then the stack of a panic.
#[inline(never)]
fn leaf(n: u32) -> u32 {
    let parts = [1, 2, 3];
    let at = std::hint::black_box(n as usize);
    parts[at] + 1
}

#[inline(never)]
fn middle(n: u32) -> u32 {
    let mut sum = 1;
    sum += leaf(n);
    sum * 2
}

fn main() {
    eprint!("{}", std::fs::read_to_string("/proc/self/maps").unwrap());
    let mut sum = 3;
    sum += middle(7);
    println!("{}", sum);
}
