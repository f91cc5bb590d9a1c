extern "C" __global__ void add(const float*a,const float*b,float*c,int n){int i=blockIdx.x*blockDim.x+threadIdx.x; if(i<n)c[i]=a[i]+b[i];}
extern "C" __global__ void scale(float*a,float f,int n){int i=blockIdx.x*blockDim.x+threadIdx.x; if(i<n)a[i]*=f;}
