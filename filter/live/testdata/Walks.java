public class Walks {
	static native int boom(int n);

	static int down(int n) {
		return n > 0 ? down(n - 1) + 1 : boom(n);
	}

	public static void main(String[] arguments) {
		System.load(arguments[0]);
		System.out.println(down(6));
	}
}
