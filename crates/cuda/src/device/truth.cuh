// Anything but zero is true, NaN included.
template <class T> FN bool truth(T a) { return a != 0; }
FN bool truth(bool a) { return a; }
FN bool truth(f16 a) { return (a.bits & 0x7fff) != 0; }
template <class R> FN bool truth(cx<R> a) { return a.re != 0 || a.im != 0; }
