struct S {
    int a : 40;
};
